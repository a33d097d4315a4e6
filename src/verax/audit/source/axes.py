"""What axes mean, where a program says it: `AXES`, jaxtyping's annotations, `verax.axes`.

A name is a symbolic size (`shapes.dims.named`), so that all that is known of shapes says what
becomes of it, and an operation that takes two sizes to be equal tells which names it pairs.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from ..annotations import read_tree
from ..words import without_twins
from .classes import all_fields
from .graph import Node
from .shapes import Dim, Partial, Shape
from .shapes.dims import differ
from .shapes.names import name_of, named
from .values import Constant, Data, Instance, Mapping, Sequence, Value, mapped

_ANNOTATIONS: dict[ast.expr, tuple[str, str] | None] = {}


def names_of(shape: Shape) -> tuple[str, ...]:
    """The names of an array's axes, empty for those without one; none for an unknown rank."""
    return tuple(map(name_of, shape)) if isinstance(shape, tuple) else ()


def has_names(shape: Shape) -> bool:
    """Whether any axis has a name."""
    return any(names_of(shape))


# --- `AXES`: names for what `entry` is called with


def named_arguments(names: list[str], given: list[Value], axes: Mapping) -> list[Value] | None:
    """The arguments of a call with the names that a mapping has for them; `None` if it has none."""
    args = [mapped(value, _copy) for value in given]
    pairs = [
        (pair[0], list(without_twins(tuple(pair[1]), _sizes(pair[0], len(pair[1])))))
        for name, value in zip(names, args, strict=False)
        if name in axes.items
        for pair in _leaves_with_names(name, value, axes.items[name])
    ]
    sizes: dict[str, set[Dim]] = {}
    for node, words in pairs:
        for word, dim in zip(words, _sizes(node, len(words)), strict=True):
            known = sizes.setdefault(word, set())
            if dim is not None:
                known.add(dim)
    unnamed = {"", "_", *_last_ones(pairs)}
    for node, words in pairs:
        node.shape = tuple(
            # A name for two sizes (all steps, and one more) is two names.
            dim if word in unnamed else named(word, "", _only(sizes[word]) if dim is None else dim)
            for word, dim in zip(words, _sizes(node, len(words)), strict=True)
        )
    return args if pairs else None


def _last_ones(pairs: list[tuple[Node, list[str]]]) -> set[str]:
    """Names of last axes of one alone, which are there to be broadcast: `"hid one"`, `"one"`."""
    last = {words[-1] for node, words in pairs if _sizes(node, len(words))[-1] == 1}
    others = {
        word
        for node, words in pairs
        for at, (word, dim) in enumerate(zip(words, _sizes(node, len(words)), strict=True), 1)
        if dim != 1 or at < len(words)
    }
    return last - others


def _only(sizes: set[Dim]) -> Dim | str:
    """The size that all axes of a name have whose size is known."""
    return next(iter(sizes)) if len(sizes) == 1 else ""


def _copy(leaf: Data) -> Data:
    own = leaf.node
    node = Node("parameter", varies=own.varies, label=own.label)
    node.shape, node.dtype, node.is_key = own.shape, own.dtype, own.is_key
    return Data(node, leaf.traced, leaf.is_array, leaf.type, leaf.limit)


def _sizes(node: Node, rank: int) -> tuple[Dim, ...]:
    return node.shape if isinstance(node.shape, tuple) else (None,) * rank


def _leaves_with_names(path: str, value: Value, names: Value) -> list[tuple[Node, list[str]]]:
    """The arrays of an argument, each with the words for its axes."""
    if isinstance(names, Constant) and isinstance(names.value, str):
        words = names.value.split()
        if not isinstance(value, Data) or not words:
            return []
        shape = value.node.shape
        value.node.label = path
        value.is_array = True
        fits = not isinstance(shape, tuple) or len(shape) == len(words)
        return [(value.node, words)] if fits else []
    pairs: list[tuple[str, Value, Value]] = []
    if isinstance(names, Mapping) and not isinstance(value, Mapping):
        # A dict from the fields of a named tuple or of a dataclass.
        own = _fields(value)
        pairs = [(f".{key}", own[key], it) for key, it in names.items.items() if key in own]
    elif isinstance(names, Mapping) and isinstance(value, Mapping):
        own = value.items
        pairs = [(f"[{key!r}]", own[key], it) for key, it in names.items.items() if key in own]
    elif isinstance(names, Sequence) and isinstance(value, Sequence):
        both = zip(value.items or (), names.items or (), strict=False)
        fields = list(all_fields(value.type)) if value.type is not None else []
        pairs = [
            (f".{fields[at]}" if at < len(fields) else f"[{at}]", one, other)
            for at, (one, other) in enumerate(both)
        ]
    elif isinstance(names, Instance) and isinstance(value, Instance):
        parts = value.attributes
        pairs = [
            (f".{key}", parts[key], it) for key, it in names.attributes.items() if key in parts
        ]
    return [
        found for step, one, other in pairs for found in _leaves_with_names(path + step, one, other)
    ]


def _fields(value: Value) -> dict[Any, Value]:
    if isinstance(value, Instance):
        return dict(value.attributes)
    if isinstance(value, Sequence) and value.type is not None:
        return dict(zip(all_fields(value.type), value.items or (), strict=False))
    return {}


# --- annotations


def annotated_shape(
    syntax: ast.expr | None, scope: object, of: object = ""
) -> tuple[Shape, str] | None:
    """The shape and dtype that an annotation of jaxtyping tells, unless it tells of several."""
    if not isinstance(syntax, (ast.Subscript, ast.Constant, ast.BinOp, ast.Name, ast.Attribute)):
        return None
    if syntax not in _ANNOTATIONS:
        told = _alternatives(syntax)
        _ANNOTATIONS[syntax] = told.pop() if len(told) == 1 else None
    found = _ANNOTATIONS[syntax]
    if found is None:
        return None
    dtype, text = found
    return _shape_of_text(text, scope, of), dtype


def _alternatives(syntax: ast.expr) -> set[tuple[str, str]]:
    """What each part of `A | B` tells."""
    if isinstance(syntax, ast.BinOp):
        return _alternatives(syntax.left) | _alternatives(syntax.right)
    found = read_tree(syntax)
    return set() if found is None else {found}


_WORD = re.compile(r"\w|\.\.\.|\*")


def _shape_of_text(text: str, scope: object, of: object) -> Shape:
    """The shape that `batch time 3` says."""
    words = text.split()
    if words == ["1"] or any(not _WORD.search(it) for it in words):
        return None  # Many write so of a number; and `n + 1` with spaces says nothing to jaxtyping.
    open_at = [i for i, word in enumerate(words) if word.startswith(("*", "...")) or "*" in word]
    dims = tuple(_dimension(word, scope, of) for word in words)
    if not open_at:
        return dims
    lead, trail = dims[: open_at[0]], dims[open_at[-1] + 1 :]
    return Partial(lead, trail) if lead or trail else None


def _dimension(word: str, scope: object, of: object) -> Dim:
    name, _, value = word.rpartition("=")
    if value.isdigit():
        return int(value)
    # `#n` may also be one, and what begins with `_` or `?` is nobody's business.
    plain = name or value
    return named(plain, scope, of) if plain.isidentifier() and not plain.startswith("_") else None


# --- `verax.axes`


def declare(node: Node, words: list[str]) -> Shape:
    """The shape of an array whose axes are named inside of the program."""
    wanted = [None if word == "_" else named(word) for word in words if word != "..."]
    is_open = words[:1] == ["..."]
    before: Any = node.shape
    if (
        isinstance(before, tuple)
        and len(before) >= len(wanted)
        and (is_open or len(before) == len(wanted))
    ):
        rest = len(before) - len(wanted)
        for dim, name in zip(before[rest:], wanted, strict=True):
            differ(dim, name)  # notes names that contradict each other
        own = zip(before[rest:], wanted, strict=True)
        return (
            *before[:rest],
            *(dim if name is None or name_of(dim) == name_of(name) else name for dim, name in own),
        )
    return Partial((), tuple(wanted)) if is_open else tuple(wanted)
