"""Seeds and mutations: number -> one broken trace, the same every time."""

from __future__ import annotations

import random
from functools import cache

from tests.builders import (
    LENGTH,
    Gz,
    Nothing,
    Odd,
    Ref,
    U,
    aggregated,
    event,
    line,
    plane,
    session,
    space,
    varint,
)
from tests.captures import committed
from tests.fuzz.message_trees import content_of, message_of, thawed, tree_of_message
from tests.unit.formats.full_protobuf import space_class

_N_KEPT_EVENTS = 10


def mutant(number: int) -> bytes:
    """The broken trace of this number: a seed with one to five mutations."""
    rng = random.Random(number)
    data = bytearray(rng.choice(seeds()))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if data:
            rng.choice(_MUTATIONS)(data, rng)
    return bytes(data)


@cache
def seeds() -> tuple[bytes, ...]:
    """Whole traces: drawn ones with all the format has, and the head of each line of a real one."""
    rng = random.Random(0)
    drawn = [
        space(*_drawing(), hostnames=["host"], warnings=["w"]),
        space(*_drawing(), odd=Odd(shuffled=rng, unknown_fields=True)),
        space(*_drawing(), odd=Odd(long_varints=True, explicit_zeros=True, metadata_first=True)),
        space(plane("/host:CPU", line("many", *(event(f"op{i % 9}:T", i, 2, i=i, s=f"text {i}") for i in range(400))))),
        space(plane("/host:CPU", line("deep", *(event("nested", i, 2000 - 2 * i) for i in range(500))))),
        space(plane("/host:CPU", line("overlap", *(event("o", i, 1 + i * 7 % 30) for i in range(300))))),
        space(plane("empty")),
    ]
    return (*drawn, head_of_capture("v100"))


def _drawing() -> tuple[object, ...]:
    stats = {"a": 1, "neg": -5, "big": U(2**64 - 1), "f": 0.5, "s": "text", "r": Ref("ref"), "b": b"\0", "n": Nothing()}
    threads = [
        line(
            f"thread {k}",
            event("train", 0, 90, _r=1, step_num=k),
            *(
                event(f"op{i}:Conv2D", i, 3, stats=stats, metadata_stats={"m": 1.5}, display_name="Conv")
                for i in range(12)
            ),
            aggregated("many", 7, 30, group_id=1),
            event(b"bad \xff", 80, 1, z=Gz("compressed " * 20), has_metadata=k > 0),
            timestamp_us=k,
        )
        for k in range(3)
    ]
    return (
        session(),
        plane("/host:CPU", *threads, process_id=77),
        plane(
            "/device:GPU:0",
            line("Stream #1(Compute)", event("kernel", 3, 4, correlation_id=U(9)), id=1),
            memory_size=U(2**34),
        ),
    )


def head_of_capture(name: str) -> bytes:
    """The trace of a real capture with the first events of each line."""
    whole = space_class().FromString(committed.content(name))
    for one in whole.planes:
        used = set()
        for thread in one.lines:
            del thread.events[_N_KEPT_EVENTS:]
            used |= {each.metadata_id for each in thread.events}
        for unused in set(one.event_metadata) - used:
            del one.event_metadata[unused]
    return bytes(whole.SerializeToString(deterministic=True))


def _truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _flip_bit(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set_byte(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _delete(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 2, 8, 100))]


def _insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.choice((1, 2, 8, 100)))


def _repeat(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at:at] = data[at : at + rng.choice((2, 16, 300))] * rng.choice((1, 2, 50))


def _swap(data: bytearray, rng: random.Random) -> None:
    size = rng.choice((1, 4, 40))
    a, b = rng.randrange(len(data)), rng.randrange(len(data))
    data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


def _huge_number(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    number = rng.choice((2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1))
    data[at : at + rng.choice((0, 1, 2, 10))] = varint(number)


def _splice(data: bytearray, rng: random.Random) -> None:
    other = rng.choice(seeds())
    data[rng.randrange(len(data)) :] = other[rng.randrange(len(other)) :]


def _append(data: bytearray, rng: random.Random) -> None:
    data += rng.choice(seeds())


def _mutate_inside(data: bytearray, rng: random.Random) -> None:
    """Mutate the content of a message at some depth; the lengths around it are those of what it becomes."""
    tree = tree_of_message(bytes(data))
    parts, _ = thawed(tree.parts, rng)
    inner = [i for i, ((_, wire), value) in enumerate(parts) if wire == LENGTH and value]
    if inner:
        at = rng.choice(inner)
        key, value = parts[at]
        part = bytearray(message_of(value) if isinstance(value, list) else value)
        rng.choice(_SHALLOW)(part, rng)
        parts[at] = key, bytes(part)
        data[:] = content_of(tree)


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Any file with one to four of its parts broken."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if data:
            rng.choice(_SHALLOW)(data, rng)
    return bytes(data)


_SHALLOW = (_truncate, _flip_bit, _set_byte, _delete, _insert, _repeat, _swap, _huge_number)
_MUTATIONS = (
    *(_mutate_inside for _ in range(12)),
    _truncate,
    _truncate,
    _flip_bit,
    _flip_bit,
    _set_byte,
    _set_byte,
    _delete,
    _insert,
    _repeat,
    _swap,
    _huge_number,
    _huge_number,
    _splice,
    _append,
)
