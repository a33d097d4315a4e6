"""A call of a transformed function: what is called, with arguments of which kinds.

JAX compiles a function anew where a call has another *signature* than all before: the structure of
its arguments, the type of each array, the value of each static argument. `difference` says in words
what is other in one of two signatures.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import jax
import numpy as np

from ...report import Tensor
from ...trace.parameters import parameter_name

_LONGEST_VALUE = 60


@dataclass(frozen=True)
class Origin:
    """Where the function comes from that a transformation was given: its name, file and line."""

    name: str
    file: str
    line: int


@dataclass(frozen=True)
class Call:
    """A call at the border of JAX: a transformation of a function, and what it is called with.

    `function` does the same once more when it is called with `args` and `kwargs`. Arguments by the
    names or numbers in `static` are not arrays, but part of the program. `transformed` is what the
    program gave to the transformation.
    """

    kind: str
    origin: Origin
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    static: frozenset[int | str] = frozenset()
    donated: frozenset[int | str] = frozenset()
    transformed: Any = None


@dataclass(frozen=True)
class Leaf:
    """What JAX compiles for: the type of one array, or the value of a static argument."""

    name: str
    text: str
    is_static: bool = False
    weak: bool = False
    sharding: str = ""


@dataclass(frozen=True)
class Signature:
    """What JAX compiles for, of all arguments of a call."""

    structure: str
    leaves: tuple[Leaf, ...]


def origin_of(function: Any) -> Origin | None:
    """Where a function is written, behind whatever wraps it; `None` if nowhere in Python."""
    function = unwrapped(function)
    code = getattr(function, "__code__", None)
    if code is None:
        call = inspect.getattr_static(type(function), "__call__", None)
        code = getattr(unwrapped(call), "__code__", None) if call is not None else None
        name = type(function).__qualname__
        return None if code is None else Origin(name, code.co_filename, code.co_firstlineno)
    return origin_of_code(code)


def origin_of_code(code: CodeType) -> Origin:
    """Where the function of a code object is written."""
    name = code.co_qualname.replace("<locals>.", "")
    return Origin(name, code.co_filename, code.co_firstlineno)


def unwrapped(function: Any) -> Any:
    """The innermost function of partial applications, methods and decorators."""
    for _ in range(100):  # a decorator may lead back to itself
        inner = getattr(function, "func", None) or getattr(function, "__func__", None)
        inner = getattr(function, "__wrapped__", None) if inner is None else inner
        if inner is None or not callable(inner):
            break
        function = inner
    return function


def signature_of(call: Call) -> Signature:
    """What JAX compiles for when it meets this call."""
    arguments = named_arguments(call)
    structures: list[str] = []
    leaves: list[Leaf] = []
    for name, is_static, value in arguments:
        if is_static:
            leaves.append(Leaf(name, written(value), is_static=True))
            continue
        paths, structure = jax.tree_util.tree_flatten_with_path(value)
        structures.append(f"{name}: {structure}")
        leaves += [_leaf(name + jax.tree_util.keystr(path), leaf) for path, leaf in paths]
    return Signature("; ".join(structures), tuple(leaves))


def named_arguments(call: Call) -> list[tuple[str, bool, Any]]:
    """Each argument with the name of its parameter, and whether it is static."""
    found: list[tuple[str, bool, Any]] = []
    for index, value in enumerate(call.args):
        name = parameter_name(call.function, index)
        found.append((name, index in call.static or name in call.static, value))
    return found + [(name, name in call.static, value) for name, value in call.kwargs.items()]


def _leaf(name: str, value: Any) -> Leaf:
    if not is_array(value):
        # A number becomes an array of weak type; anything else is a matter of the transformation.
        if isinstance(value, (bool, int, float, complex)):
            return Leaf(name, f"a Python {type(value).__name__}", weak=True)
        return Leaf(name, written(value), is_static=True)
    aval = jax.typeof(value)
    text = str(Tensor(str(aval.dtype), tuple(aval.shape)))
    return Leaf(name, text, weak=bool(getattr(aval, "weak_type", False)), sharding=_sharding(value))


def is_array(value: Any) -> bool:
    """Whether a value is an array, of JAX's or of NumPy's, or a random key."""
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


def _sharding(value: Any) -> str:
    """How an array is divided among devices, empty where it is not."""
    sharding = getattr(value, "sharding", None)
    if sharding is None or len(sharding.device_set) < 2:
        return ""
    return str(getattr(sharding, "spec", sharding))


def written(value: Any) -> str:
    """A value as short text, without what differs from run to run."""
    shown = reprlib.Repr()
    shown.maxother = shown.maxstring = _LONGEST_VALUE
    try:
        text = shown.repr(value)
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return text if " object at 0x" not in text else f"an object of type {type(value).__name__}"


def difference(before: Signature, now: Signature) -> str:
    """What is other in a signature than in one before, in words; empty if they are the same."""
    earlier = {leaf.name: leaf for leaf in before.leaves}
    changes = [
        change
        for leaf in now.leaves
        if leaf.name in earlier and (change := _change(earlier[leaf.name], leaf))
    ]
    came = [f"`{leaf.name}` is new" for leaf in now.leaves if leaf.name not in earlier]
    names = {leaf.name for leaf in now.leaves}
    went = [f"`{name}` is gone" for name in earlier if name not in names]
    if changes or came or went:
        return _listed([*changes, *came, *went])
    return "" if before.structure == now.structure else "the structure of the arguments changed"


def _change(before: Leaf, now: Leaf) -> str:
    if before == now:
        return ""
    what = f"`{now.name}`"
    if now.is_static or before.is_static:
        return f"static {what}: {before.text} → {now.text}"
    if before.text != now.text:
        return f"{what}: {before.text} → {now.text}"
    if before.weak != now.weak:
        kinds = ("strongly", "weakly")
        return f"{what}: {before.text}, {kinds[before.weak]} typed → {kinds[now.weak]} typed"
    return f"sharding of {what}: {before.sharding or 'none'} → {now.sharding or 'none'}"


_LISTED = 3


def _listed(parts: Sequence[str]) -> str:
    more = len(parts) - _LISTED
    return ", ".join(parts[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def nearest(signature: Signature, others: Sequence[Signature]) -> Signature | None:
    """The signature of the earlier ones that differs least, of these the latest."""

    def distance(other: Signature) -> int:
        return len(set(signature.leaves) ^ set(other.leaves))

    return min(reversed(others), key=distance, default=None)
