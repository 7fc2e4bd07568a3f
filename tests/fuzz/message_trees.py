"""Bytes of messages, or documents of JSON -> trees, whose parts are moved, repeated and linked otherwise, and back.

A tree is a list of parts `(key, value)`. The value is a list where the part has parts itself, else a number or a text. Of
messages a key is `(field number, wire type)`; of JSON the name of a member, or its place in a list. No schema is needed: what
reads as a message is taken for one, and writes as the same bytes if nothing in it changes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.builders import FIXED64, LENGTH, VARINT, length_prefixed, tag, varint

FIXED32 = 5
MOST_DEPTH = 9
MOST_BYTES = 2 * 2**20
"""Repeating parts makes a tree no larger than about this."""
Path = tuple[Any, ...]
"""The keys that lead to a part: those of one path stand for the same thing, such as the name of an event."""
NUMBERS = (0, 1, 2, 3, 7, 2**16, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1)
_N_KEPT = 60


@dataclass
class Tree:
    """A whole document."""

    parts: list[Any]
    is_message: bool
    pool: dict[Path, list[Any]] = field(default_factory=dict)
    """Some of the values at each path: what a link or a name may become."""
    n_bytes: int = 0


# --- messages ---


def tree_of_message(content: bytes) -> Tree:
    """The parts of a message."""
    tree = Tree(_parts_of(content, MOST_DEPTH) or [], True, n_bytes=len(content))
    _fill(tree.pool, tree.parts, ())
    return tree


def _parts_of(content: bytes, depth: int) -> list[Any] | None:
    """The parts; None where it is no message, or not written as it would be again."""
    parts: list[Any] = []
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        number, wire = key >> 3, key & 7
        if at < 0 or not 0 < number < 2**12:
            return None
        if wire == VARINT:
            value, at = _varint(content, at)
            if at < 0:
                return None
            parts.append(((number, wire), value))
            continue
        n_bytes = 8 if wire == FIXED64 else 4
        if wire == LENGTH:
            n_bytes, at = _varint(content, at)
        elif wire not in (FIXED64, FIXED32):
            return None
        if at < 0 or at + n_bytes > len(content):
            return None
        piece = content[at : at + n_bytes]
        inner = _parts_of(piece, depth - 1) if wire == LENGTH and n_bytes > 1 and depth else None
        parts.append(((number, wire), piece if inner is None else inner))
        at += n_bytes
    return parts


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """The number and where it ends; -1 where it does not, or is longer than it must be."""
    value = shift = 0
    while at < len(content) and shift < 70:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at if byte or shift == 7 else -1
    return value, -1


def message_of(parts: list[Any]) -> bytes:
    """The bytes of parts."""
    out = []
    for (number, wire), value in parts:
        out.append(tag(number, wire))
        if wire == VARINT:
            out.append(varint(value))
        else:
            content = message_of(value) if isinstance(value, list) else value
            out.append(length_prefixed(content) if wire == LENGTH else content)
    return b"".join(out)


# --- JSON ---


def tree_of_json(document: Any, n_bytes: int) -> Tree:
    """The members and items of a document; of objects the members are `("name", value)`, of lists `(0, value)`."""
    tree = Tree([("", _json_parts(document))], False, n_bytes=n_bytes)
    _fill(tree.pool, tree.parts, ())
    return tree


def _json_parts(value: Any) -> Any:
    if isinstance(value, dict):
        return [(str(key), _json_parts(one)) for key, one in value.items()]
    if isinstance(value, list):
        return [(0, _json_parts(one)) for one in value]
    return value


def json_text(value: Any) -> str:
    """JSON of a tree; a member may be there twice, as no dictionary could have it."""
    import json

    if not isinstance(value, list):
        return json.dumps(value)
    if value and all(isinstance(key, str) for key, _ in value):
        return f"{{{','.join(f'{json.dumps(key)}:{json_text(one)}' for key, one in value)}}}"
    return f"[{','.join(json_text(one) for _, one in value)}]"


def content_of(tree: Tree) -> bytes:
    """The bytes of a tree."""
    return message_of(tree.parts) if tree.is_message else json_text(tree.parts[0][1] if tree.parts else None).encode()


def _fill(pool: dict[Path, list[Any]], parts: list[Any], path: Path) -> None:
    for key, value in parts:
        here = (*path, key)
        kept = pool.setdefault(here, [])
        if len(kept) < _N_KEPT:
            kept.append(value)
        if isinstance(value, list):
            _fill(pool, value, here)


# --- changes ---


def changed(tree: Tree, other: Tree, rng: random.Random, n_changes: int) -> Tree:
    """The same with some of its structure changed; parts come from `other` as well, where both have a path."""
    new = Tree(list(tree.parts), tree.is_message, tree.pool, tree.n_bytes)
    for _ in range(n_changes):
        parts, path = thawed(new.parts, rng)
        if parts:
            _change(new, other, parts, path, rng)
    return new


def thawed(parts: list[Any], rng: random.Random) -> tuple[list[Any], Path]:
    """Some list of parts inside, copied with all lists around it, so that the tree it came from stays as it was."""
    path: Path = ()
    while parts:
        inner = [i for i in rng.sample(range(len(parts)), min(4, len(parts))) if isinstance(parts[i][1], list)]
        if not inner or (path and rng.random() < 0.25):
            break
        at = inner[0]
        key, value = parts[at]
        parts[at] = key, list(value)
        parts, path = parts[at][1], (*path, key)
    return parts, path


def _change(tree: Tree, other: Tree, parts: list[Any], path: Path, rng: random.Random) -> None:
    at = rng.randrange(len(parts))
    key, value = parts[at]
    choice = rng.random()
    if choice < 0.45:  # a link or a name becomes another
        at = next(
            (i for i in rng.sample(range(len(parts)), min(5, len(parts))) if not isinstance(parts[i][1], list)), at
        )
        key, value = parts[at]
        parts[at] = key, _other_value(tree, other, (*path, key), value, rng)
    elif choice < 0.6:
        del parts[at]
    elif choice < 0.8:
        n = rng.choice((1, 1, 1, 2, 5, 40, 1000))
        n = max(1, min(n, (MOST_BYTES - tree.n_bytes) // max(1, _size(value))))
        tree.n_bytes += n * _size(value)
        parts[at:at] = [parts[at]] * n
    elif choice < 0.88:
        rng.shuffle(parts)
    else:  # something that stands in such a place elsewhere
        kinds = [one for one in (other.pool if rng.random() < 0.5 else tree.pool) if one[:-1] == path]
        if kinds:
            kind = rng.choice(kinds)
            parts.insert(at, (kind[-1], rng.choice((other.pool if kind in other.pool else tree.pool)[kind])))


def _other_value(tree: Tree, other: Tree, path: Path, value: Any, rng: random.Random) -> Any:
    pool = (other if rng.random() < 0.3 else tree).pool
    choice = rng.random()
    if choice < 0.5 and pool.get(path):
        return rng.choice(pool[path])
    if isinstance(value, (bytes, str)):
        return value[:0] if choice < 0.6 else value + value if choice < 0.7 else _any_like(tree, value, rng)
    if isinstance(value, bool) or value is None or isinstance(value, list):
        return value
    if not tree.is_message and choice < 0.6:
        return rng.choice((None, True, "", "x", -1, 0.5, 1e308))
    if choice < 0.75:
        return rng.choice(NUMBERS)
    return (int(value) + rng.choice((-1, 1, 2))) % 2**64 if choice < 0.9 else _any_like(tree, value, rng)


def _any_like(tree: Tree, value: Any, rng: random.Random) -> Any:
    """A value of the same kind from anywhere in the tree."""
    for path in rng.sample(list(tree.pool), min(12, len(tree.pool))):
        found = rng.choice(tree.pool[path])
        fits = type(found) is type(value)
        if fits and (not isinstance(value, bytes) or path[-1][1] == LENGTH):
            return found
    return value


def _size(value: Any) -> int:
    if isinstance(value, list):
        return sum(2 + _size(one) for _, one in value)
    return len(value) if isinstance(value, (bytes, str)) else 4
