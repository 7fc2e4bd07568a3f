"""Random choices -> traces with too much of something: lines, depth, names, steps, events, characters."""

from __future__ import annotations

import random

from tests.builders import Event, event, length_prefixed, line, number, plane, space, tag, tagged
from tests.fuzz.hostile_texts import text

LENGTH = 2
N_LINES = 100_000
N_CHARACTERS = 100_000_000
N_LEVELS = 10_000
N_IDENTICAL = 1_000_000


def many_lines(rng: random.Random, size: float) -> bytes:
    """Threads of one event each, over one plane or many."""
    n, n_planes = 10 + int(N_LINES * size), rng.choice((1, 1, 3, 50))
    each = n // n_planes + 1
    planes = []
    for k in range(n_planes):
        lines = (line(f"thread {k}.{i}", event("one:Conv2D", i % 70_000, 50)) for i in range(each))
        planes.append(plane(f"/device:GPU:{k}" if k else "/host:CPU", *lines))
    return space(*planes)


def long_strings(rng: random.Random, size: float) -> bytes:
    """One text of a hundred million characters; where, is chosen, the longest is an op."""
    long = rng.choice(("x", "<img src=x onerror=window.tfprofHacked=1>", "\u00e9", "a/"))
    long = long * (1000 + int(N_CHARACTERS * size / len(long)))
    place = (
        "op" if size == 1 else rng.choice(("op", "line", "plane", "stat", "key", "host", "display", "iterator", "step"))
    )
    at = {name: long if name == place else name for name in ("op", "line", "plane", "stat", "key", "host", "display")}
    stats = {at["key"]: at["stat"]}
    events = [
        event(f"{at['op']}:MatMul", 100, 5000, stats=stats, display_name=at["display"]),
        event(f"Iterator::Root::{long if place == 'iterator' else 'Map'}", 6000, 100, id=1),
        event(long if place == "step" else "train", 7000, 900, _r=1, step_num=3),
    ]
    return space(plane("/host:CPU", line(at["line"], *events)), plane(at["plane"]), hostnames=[at["host"]])


def deep_nesting(rng: random.Random, size: float) -> bytes:
    """One thread with thousands of levels, of one name or of many; and one of ever new levels."""
    n = 10 + int(N_LEVELS * size)
    is_one = rng.random() < 0.5
    deep = [event("nested" if is_one else f"scope/level{i}:Conv2D", i * 0.5, 2 * n - i) for i in range(n)]
    stairs = [event(f"stair{i % 100}", i * 5, 5 * (100 - i % 100)) for i in range(2000)]
    return space(plane("/host:CPU", line("deep", *deep), line("stairs", *stairs)))


def identical_events(rng: random.Random, size: float) -> bytes:
    """The same event, at the same time, a million times."""
    n = 1000 + int(N_IDENTICAL * size)
    duration_ps = rng.choice((0, 1, 10**6, 10**10))
    content = number(1, 1) + number(2, 10**7) + (number(3, duration_ps) if duration_ps else b"")
    one = tag(4, LENGTH) + length_prefixed(content)
    body = number(1, 5) + tagged(2, b"identical") + one * n
    names = number(1, 1) + tagged(2, number(1, 1) + tagged(2, b"same/op:Relu"))
    return tagged(1, tagged(2, b"/host:CPU") + tagged(3, body) + tagged(4, names))


def overlapping_events(rng: random.Random, size: float) -> bytes:
    """Slices that begin in one and end in the next, as no call stack does."""
    n = 100 + int(30_000 * size)
    chained = [event(f"o{i % 5}:Relu", i * 2, 5) for i in range(n)]
    wild = [Event("w", rng.randrange(10**10), rng.randrange(10**9)) for _ in range(n // 3)]
    return space(
        plane("/host:CPU", line("chained", *chained), line("wild", *wild)), plane("/device:GPU:0", line("s", *chained))
    )


def empty_planes(rng: random.Random, size: float) -> bytes:
    """Planes without lines, lines without events, and plenty of both."""
    n = 10 + int(5000 * size)
    names = ("/host:CPU", "/device:GPU:{}", "/device:TPU:{}", "", "p{}", "/host:{}")
    planes = [plane(rng.choice(names).format(i), *[line(f"empty {i}")] * rng.randrange(2)) for i in range(n)]
    return space(*planes)


def thousands_of_steps(rng: random.Random, size: float) -> bytes:
    """Steps in steps, of no length, with numbers that repeat, run backwards and leap."""
    n = 100 + int(50_000 * size)
    long = [event("train", i * 2, 1.5, _r=1, step_num=n - i) for i in range(n)]
    nested = [event("train", i, 2000 - 2 * i, _r=1, step_num=i) for i in range(500)]
    nothing = [event("test", i, 0, _r=1, step_num=rng.choice((0, -5, 2**62))) for i in range(500)]
    return space(plane("/host:CPU", line("long", *long), line("nested", *nested), line("nothing", *nothing)))


def broken_flows(rng: random.Random, size: float) -> bytes:
    """Producers of nothing, consumers of nobody, rings, and one producer of all."""
    n = 50 + int(20_000 * size)
    ids = (0, 1, -1, 2**63 - 1, 7)
    wild = [
        event("e", i * 3, 2, _p=rng.choice(ids), _pt=rng.randrange(20), _c=rng.choice(ids), _ct=rng.randrange(20))
        for i in range(500)
    ]
    one = event("producer", 0, 5, _p=99, _pt=1)
    all_ = [event("consumer", 10 + i * 3, 2, _c=99, _ct=1) for i in range(n)]
    launches = [event("cuLaunchKernel", i * 3, 1, correlation_id=i % 3) for i in range(n // 4)]
    kernels = [event("kernel", i * 3, 1, correlation_id=i % 3) for i in range(n // 4)]
    host = plane("/host:CPU", line("wild", *wild), line("one", one), line("all", *all_), line("launches", *launches))
    return space(host, plane("/device:GPU:0", line("Stream", *kernels)))


def many_names(rng: random.Random, size: float) -> bytes:
    """Each event has a name of its own, and so has each op."""
    n = 100 + int(200_000 * size)
    marked = text(rng)
    events = [event(f"net/layer{i}/op_{i}_{'' if i % 1000 else marked}:Op{i % 5000}", i * 0.3, 0.2) for i in range(n)]
    return space(plane("/host:CPU", line("names", *events)))


def many_stats(rng: random.Random, size: float) -> bytes:
    """One event with a hundred thousand stats, each with a key of its own; and one stat very often."""
    n = 100 + int(100_000 * size)
    stats = [(f"key {i} {text(rng) if i % 1000 == 0 else ''}", i) for i in range(n)]
    often = [("again", f"value {i}") for i in range(n // 10)]
    events = [event("all/stats:MatMul", 100, 5000, stats=stats), event("again", 6000, 900, stats=often)]
    return space(plane("/host:CPU", line("stats", *events)))
