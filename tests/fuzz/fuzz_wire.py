"""Coverage-guided attack on everything in `wire` that reads bytes from elsewhere.

    python tests/fuzz/fuzz_wire.py -max_total_time=20 [a folder of inputs]

Whatever it is fed, a reader returns or raises a BrokerError. What it returns can be written, and
what was written is read as the same: nobody gains a second meaning by passing through us. An input
that breaks this is kept in `regressions/`, and replayed for ever by a unit test.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from inspect import isfunction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from odradek.model.errors import BrokerError
from odradek.wire import codec, decode, encoded, framing, headers, prefixed
from odradek.wire.apis import APIS, RECORD_TYPES
from odradek.wire.compiler import primitives
from odradek.wire.framing import Framer, Scratch
from odradek.wire.headers import read_request, request_frame
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from odradek.wire.prefixed import (
    read_key,
    read_prefixed,
    read_value,
    write_key,
    write_prefixed,
    write_value,
)
from odradek.wire.schema import Message

LIMIT = 1 << 20
MODULES = (codec, framing, headers, prefixed, primitives)
KEYS = sorted(APIS)
TYPES = sorted(RECORD_TYPES)
SUBSCRIPTIONS = (ConsumerProtocolSubscription, ConsumerProtocolAssignment)


def again(message: Message, version: int) -> None:
    """What was read is written and read once more, and both times the bytes are the same."""
    once = encoded(message, version)
    read, end = decode(type(message), version, once)
    assert end == len(once)
    assert encoded(read, version) == once


def attack_stream(data: bytes) -> None:
    """A connection, in pieces; the first byte says of which size."""
    framer = Framer(Scratch(256), limit=LIMIT, eager=1024)
    size = data[0] or 1
    for start in range(1, len(data), size):
        for frame in framer.feed(data[start : start + size]):
            with suppress(BrokerError):
                header, request = read_request(frame)
                again(request, header.request_api_version)
        if framer.fault is not None:
            return


def attack_request(data: bytes) -> None:
    """A body; the first bytes say of which API and version."""
    api = APIS[KEYS[data[0] % len(KEYS)]]
    version = api.versions[data[1] % len(api.versions)]
    again(decode(api.request, version, bytearray(data[2:]))[0], version)


def attack_response(data: bytes) -> None:
    """The same for what a peer answers."""
    api = APIS[KEYS[data[0] % len(KEYS)]]
    version = api.versions[data[1] % len(api.versions)]
    again(decode(api.response, version, data[2:])[0], version)


def attack_record(data: bytes) -> None:
    """A record of an internal topic; the first bytes say which, and how long its key is."""
    topic, _ = TYPES[data[0] % len(TYPES)]
    key = read_key(topic, memoryview(data)[2 : 2 + data[1]])
    assert read_key(topic, write_key(key)) == key
    rest = data[2 + data[1] :]
    again(read_value(key, rest), int.from_bytes(rest[:2], "big"))


def attack_subscription(data: bytes) -> None:
    """What a consumer put into JoinGroup, or its leader into SyncGroup."""
    kind = SUBSCRIPTIONS[data[0] % len(SUBSCRIPTIONS)]
    message = read_prefixed(kind, memoryview(data)[1:])
    again(message, message.VERSIONS[-1])


ATTACKS: tuple[Callable[[bytes], None], ...] = (
    attack_stream,
    attack_request,
    attack_response,
    attack_record,
    attack_subscription,
)


def attack(data: bytes) -> None:
    """The first byte says what the others pretend to be."""
    if len(data) < 3:
        return
    with suppress(BrokerError):
        ATTACKS[data[0] % len(ATTACKS)](data[1:])


def seeds() -> list[bytes]:
    """Inputs that are what they pretend to be, for the fuzzer to spoil: each message once."""
    from tests.samples.wire import sample

    random = Random(5)
    found = []
    for number, key in enumerate(KEYS):
        api = APIS[key]
        version = random.choice(api.versions)
        request = sample(api.request, version, random)
        frame = request_frame(request, version, 1, "fuzz")
        found.append(b"\0\x40" + b"".join(frame))  # type: ignore[arg-type]
        found.append(bytes([1, number, version]) + encoded(request, version))
        response = encoded(sample(api.response, version, random), version)
        found.append(bytes([2, number, version]) + response)
    for number, of in enumerate(TYPES):
        key_bytes = write_key(sample(RECORD_TYPES[of].key, 0, random))
        version = random.choice(RECORD_TYPES[of].value.VERSIONS)
        value = write_value(sample(RECORD_TYPES[of].value, version, random), version)
        if len(key_bytes) < 256:
            found.append(bytes([3, number, len(key_bytes)]) + key_bytes + value)
    for number, kind in enumerate(SUBSCRIPTIONS):
        found.append(bytes([4, number]) + write_prefixed(sample(kind, 3, random), 3))
    return found


def main() -> None:
    """Runs until libFuzzer's options end it; it begins with our seeds, and the folders named."""
    import atheris

    for module in MODULES:
        for function in vars(module).values():
            if isfunction(function) and function.__module__ == module.__name__:
                atheris.instrument_func(function)
    compile_decoder = codec.compile_decoder  # type: ignore[attr-defined]

    def compile_and_watch(message: type[Message], version: int, **how: Any) -> Any:
        return atheris.instrument_func(compile_decoder(message, version, **how))

    codec.compile_decoder = compile_and_watch  # type: ignore[attr-defined]
    with TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds()):
            (Path(corpus) / str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], corpus, *sys.argv[1:]], attack)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))  # for the samples
    main()
