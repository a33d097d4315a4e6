"""Names that take what a lane of a map has for all lanes together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...source.text import text_of
from ...words import is_batch, words_of


@dataclass(frozen=True)
class Mapped:
    """A parameter without its first axis: what that is called, and whether it was the batch."""

    axis: str
    is_certain: bool

    def is_named(self, name: str) -> bool:
        """Whether a name is one for all elements of this axis."""
        words = words_of(name)
        is_plural = bool(self.axis) and any(it in words for it in (self.axis, f"{self.axis}s"))
        return is_plural and name.endswith("s")


def assumptions(
    function: ast.AST, mapped: dict[str, Mapped]
) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Statements that name axis 0 of a mapped parameter after the batch, or take it for that."""
    assigned = _assigned(function)
    mapped = {name: it for name, it in mapped.items() if name not in assigned}
    for node in _own_nodes(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, text = node.targets[0], text_of(node.value)
            name = target.id if isinstance(target, ast.Name) else ""
            counted, reduced = _size_of(node.value), _reduced_over_first(node.value)
            if counted in mapped and _counts_batch(name, mapped[counted].axis):
                yield node, counted, f"`{name}` is taken from `{text}`"
            if reduced in mapped and _means_batch(name, reduced, mapped[reduced]):
                yield node, reduced, f"`{name}` is taken over axis 0 by `{text}`"
        name = _picked_from(node) if isinstance(node, (ast.Subscript, ast.Call)) else ""
        if name in mapped and _is_of_batch(name, mapped[name]):
            assert isinstance(node, ast.expr)
            yield node, name, f"`{text_of(node)}` is meant to pick an element of the batch"


def _picked_from(node: ast.Subscript | ast.Call) -> str:
    """`x` in `x[0]`, `jnp.take(x, 0, axis=0)` and `x.take(0, axis=0)`, or empty."""
    if isinstance(node, ast.Subscript):
        owner, index, axis = node.value, node.slice, None
    else:
        owner, args, axis = _called_on(node)
        index = args[0] if args else None
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        axis = axis or (args[1] if len(args) > 1 else None)
        if name != "take" or not isinstance(axis, ast.Constant) or axis.value != 0:
            return ""
    is_one = isinstance(index, ast.Constant) and type(index.value) is int
    return owner.id if is_one and isinstance(owner, ast.Name) else ""


def _called_on(call: ast.Call) -> tuple[ast.expr | None, list[ast.expr], ast.expr | None]:
    """The array of a function or method, its other arguments, and `axis=`."""
    owner, args = getattr(call.func, "value", None), list(call.args)
    if isinstance(owner, ast.Name) and owner.id in ("jnp", "np", "numpy") and args:
        owner = args.pop(0)
    return owner, args, next((it.value for it in call.keywords if it.arg == "axis"), None)


def _is_of_batch(parameter: str, mapped: Mapped) -> bool:
    """Whether a parameter is called after what the map goes along."""
    says_batch = is_batch(parameter) and (not mapped.axis or is_batch(mapped.axis))
    return says_batch or mapped.is_named(parameter)


def _means_batch(target: str, parameter: str, mapped: Mapped) -> bool:
    """Whether what is reduced over axis 0, or the result, is called after the batch."""
    if _BATCH & set(words_of(target)):
        return True
    is_batch_word = parameter in _BATCH and (not mapped.axis or is_batch(mapped.axis))
    return mapped.is_certain and (is_batch_word or mapped.is_named(parameter))


_BATCH = frozenset(("batch", "minibatch"))


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The syntax of a function without that of functions inside of it."""
    pending: list[ast.AST] = [function]
    while pending:
        node = pending.pop(0)
        if node is function or not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield node
            pending.extend(ast.iter_child_nodes(node))


def _assigned(function: ast.AST) -> set[str]:
    """Names that the function assigns itself: no longer what was passed."""
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _size_of(value: ast.expr) -> str:
    """`x` in `x.shape[0]` and `len(x)`, or empty."""
    if (
        isinstance(value, ast.Subscript)
        and isinstance(value.value, ast.Attribute)
        and value.value.attr == "shape"
        and isinstance(value.value.value, ast.Name)
        and isinstance(value.slice, ast.Constant)
        and value.slice.value == 0
    ):
        return value.value.value.id
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "len"
        and len(value.args) == 1
        and isinstance(value.args[0], ast.Name)
    ):
        return value.args[0].id
    return ""


def _reduced_over_first(value: ast.expr) -> str:
    """`x` in `x.mean(axis=0)` and `jnp.mean(x, 0)`, or empty."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return ""
    owner, args, axis = _called_on(value)
    axis = axis or (args[0] if args else None)
    is_first = isinstance(axis, ast.Constant) and axis.value == 0
    is_reduction = value.func.attr in ("mean", "sum", "std", "var", "max", "min")
    return owner.id if is_first and is_reduction and isinstance(owner, ast.Name) else ""


def _counts_batch(name: str, axis: str) -> bool:
    """`batch_size`, `num_envs`, `population`: how many independent elements there are."""
    words = words_of(name)
    counting = {"size", "num", "n", "count", "number", "len"}
    own = {"population", axis, f"{axis}s"} - {"", "s"}
    return any(word in own or (is_batch(word) and len(word) > 1) for word in words) and (
        bool(counting & set(words)) or len(words) == 1
    )


def counts_axis(name: str, axis: str) -> bool:
    """Whether a name counts the elements of an axis: `n_particles` those of `particle`."""
    words = words_of(name)
    return _counts_batch(name, axis) and (axis in words or f"{axis}s" in words)
