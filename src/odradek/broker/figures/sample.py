"""One line of the page of metrics, as Prometheus reads it: a name, labels and a value."""

from typing import Final, NamedTuple

ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Sample(NamedTuple):
    """One line."""

    name: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        labels = ",".join(f'{name}="{value.translate(ESCAPES)}"' for name, value in self.labels)
        braced = f"{{{labels}}}" if labels else ""
        value = int(self.value) if self.value == int(self.value) else self.value
        return f"{self.name}{braced} {value}"
