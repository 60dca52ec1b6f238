"""The bill of materials (CycloneDX 1.6, JSON): what the package needs at run time, from pins.

Licences are those that the installed packages state, for the pinned version alone.
"""

import json
import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, Final

PINS: Final = "pins/up.txt"
PIN: Final = re.compile(r"^([\w.-]+)==(\S+)(?: ; ([^\\]+?))? \\$", re.MULTILINE)
HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NAME: Final = "odradek"


def bill(root: Path, version: str, moment: str) -> str:
    """With the time of the commit, so that it is the same however often it is made."""
    components = _components((root / PINS).read_text())
    own = f"pkg:pypi/{NAME}@{version}"
    found = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": NAME,
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [it["bom-ref"] for it in components]}],
    }
    return json.dumps(found, indent=2) + "\n"


def _components(pins: str) -> list[dict[str, Any]]:
    entries = list(PIN.finditer(pins))
    ends = [*(it.start() for it in entries[1:]), len(pins)]
    found = []
    for entry, end in zip(entries, ends, strict=True):
        name, version, marker = entry.groups()
        purl = f"pkg:pypi/{name}@{version}"
        properties = [
            {"name": "sha256 of a file of this version", "value": digest}
            for digest in HASH.findall(pins[entry.end() : end])
        ]
        if marker:
            properties.insert(0, {"name": "needed where", "value": marker})
        component: dict[str, Any] = {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "properties": properties,
        }
        if (licence := _licence(name, version)) is not None:
            component["licenses"] = [licence]
        found.append(component)
    return found


def _licence(name: str, version: str) -> dict[str, Any] | None:
    """As an expression where the package has one, else in its own words."""
    try:
        said = metadata(name).json
    except PackageNotFoundError:
        return None
    if said["version"] != version:
        return None
    if expression := said.get("license_expression"):
        return {"expression": expression}
    classes = [it for it in said.get("classifier", []) if it.startswith("License :: ")]
    words = [it.rpartition(" :: ")[2] for it in classes] or [str(said.get("license", ""))]
    return {"license": {"name": " or ".join(words)}} if words[0] else None
