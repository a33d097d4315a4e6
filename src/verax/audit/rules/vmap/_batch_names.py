"""Names that take what a lane of a map has for all lanes together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...source.queries.indices import index_parts, is_whole
from ...source.queries.loops.lanes import measured
from ...source.remember import children, remembered
from ...source.text import text_of
from ...words import is_batch, is_feature, is_plural, is_separate, is_sequence, words_of


@dataclass(frozen=True)
class Mapped:
    """A value without its first axis: what that is called, and whether it was the batch.

    `own` is the name of the axis that comes first then. `is_single` says that nothing in it could
    be a batch of its own.
    """

    axis: str
    is_certain: bool
    own: str = ""
    is_single: bool = False

    def is_named(self, name: str) -> bool:
        """Whether a name is one for all elements of this axis."""
        words = words_of(name)
        is_of_it = bool(self.axis) and any(it in words for it in (self.axis, f"{self.axis}s"))
        return is_of_it and is_plural(name)

    def is_of_many(self, name: str) -> bool:
        """Whether a name is one for separate things, while the axis that is left is of one."""
        word = words_of(name)[-1] if words_of(name) else ""
        is_of_one = bool(self.own) and not (is_sequence(self.own) or is_separate(self.own))
        return self.is_certain and is_of_one and is_plural(name) and is_separate(word)


@dataclass(frozen=True)
class Assumption:
    """A piece of syntax that takes axis 0 of something for the batch, and how."""

    syntax: ast.expr | ast.stmt
    array: ast.expr
    what: str


# What is mapped of a name or of one of its fields (`x`, `batch.obs`, `batch["obs"]`), or nothing.
Lookup = Callable[[ast.expr], Mapped | None]


def assumptions(function: ast.AST, mapped: Lookup) -> Iterator[Assumption]:
    """What names axis 0 of a mapped value after the batch, or takes it for that."""
    name = ast.Name(getattr(function, "name", ""))
    for node in _own_nodes(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            for target, value in _pairs(node.targets[0], node.value):
                yield from _assigned(node, target, value, mapped)
        if isinstance(node, ast.Return) and node.value is not None:
            yield from _assigned(node, name, node.value, mapped)
        for array, what in _taken_apart(node):
            lane = mapped(array)
            if lane is not None and _is_of_batch(array, lane):
                assert isinstance(node, ast.expr)
                yield Assumption(node, array, f"`{text_of(node)}` is meant to {what} of the batch")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            array = measured(node.right)
            lane = mapped(array) if array is not None else None
            if array is None or lane is None:
                continue
            if _counts_data(node.left):
                what = f"`{text_of(node)}` is meant to be all data for one batch of it"
                yield Assumption(node, array, what)
            elif _is_length_of_batch("n", array, lane):
                yield Assumption(node, array, f"`{text_of(node)}` divides by the length of a batch")


def _taken_apart(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Arrays that an expression takes apart along axis 0, and what it does."""
    picked = _picked_from(node) if isinstance(node, (ast.Subscript, ast.Call)) else None
    if picked is not None:
        yield picked, "pick an element"
    flattened = _flattened(node) if isinstance(node, ast.Call) else None
    if flattened is not None:
        yield flattened, "make a vector of each element"


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What is assigned to what, one by one in `n, d = x.shape[0], x.shape[1]`."""
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            return list(zip(targets, values, strict=True))
        case _:
            return [(target, value)]


def _assigned(
    node: ast.Assign | ast.Return, target: ast.expr, value: ast.expr, mapped: Lookup
) -> Iterator[Assumption]:
    array = measured(value)
    if isinstance(target, ast.Tuple) and target.elts and isinstance(value, ast.Attribute):
        # `n, d = x.shape`
        array = value.value if value.attr == "shape" else None
        target = target.elts[0]
    name = target.id if isinstance(target, ast.Name) else ""
    lane = mapped(array) if array is not None else None
    if (
        array is not None
        and lane is not None
        and (_counts_batch(name, lane.axis) or _is_length_of_batch(name, array, lane))
    ):
        yield Assumption(node, array, f"`{name}` is taken from `{text_of(value)}`")
    array = _reduced_over_first(value)
    lane = mapped(array) if array is not None else None
    if array is not None and lane is not None and _means_batch(name, array, lane):
        yield Assumption(node, array, f"`{name}` is taken over axis 0 by `{text_of(value)}`")


def _picked_from(node: ast.Subscript | ast.Call) -> ast.expr | None:
    """`x` in `x[0]`, `jnp.take(x, 0, axis=0)`, `lax.index_in_dim(x, 0)`, or of a tree's leaves."""
    if isinstance(node, ast.Subscript):
        parts = index_parts(node)
        owner, index = node.value, parts[0] if parts else None
        if not all(map(is_whole, parts[1:])):
            return None
    elif _picks_of_leaves(node):
        return node.args[1]
    else:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name not in _TAKES:
            return None
        owner, args, axis = _called_on(node)
        index = args[0] if args else None
        axis = axis or (args[1] if len(args) > 1 else _TAKES[name])
        if not isinstance(axis, ast.Constant) or axis.value != 0:
            return None
    is_one = isinstance(index, ast.Constant) and type(index.value) is int
    return owner if is_one else None


def _flattened(call: ast.Call) -> ast.expr | None:
    """`x` in `x.reshape(x.shape[0], -1)` and `jnp.reshape(x, (len(x), -1))`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "reshape":
        return None
    owner, args, _ = _called_on(call)
    if owner is None:
        return None
    sizes = args[0].elts if len(args) == 1 and isinstance(args[0], ast.Tuple) else args
    array = measured(sizes[0]) if len(sizes) == 2 and ast.unparse(sizes[1]) == "-1" else None
    is_own = array is not None and ast.unparse(array) == ast.unparse(owner)
    return owner if is_own else None


# Functions that take one element, with the axis that they take if none is told.
_TAKES: dict[str, ast.expr | None] = {
    "take": None,
    "index_in_dim": ast.Constant(0),
    "dynamic_index_in_dim": ast.Constant(0),
}


def _picks_of_leaves(call: ast.Call) -> bool:
    """Whether it is `jax.tree.map(lambda leaf: leaf[0], tree)`."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="map" | "tree_map"),
            args=[
                ast.Lambda(body=ast.Subscript(value=ast.Name(), slice=ast.Constant(value=value))),
                _,
            ],
        ):
            return type(value) is int
        case _:
            return False


def _called_on(call: ast.Call) -> tuple[ast.expr | None, list[ast.expr], ast.expr | None]:
    """The array of a function or method, its other arguments, and `axis=`."""
    owner, args = getattr(call.func, "value", None), list(call.args)
    if owner is not None and args and text_of(owner) in _LIBRARIES:
        owner = args.pop(0)
    return owner, args, next((it.value for it in call.keywords if it.arg == "axis"), None)


_LIBRARIES = frozenset("jnp np numpy lax jax.numpy jax.lax".split())


def _names_in(array: ast.expr) -> list[str]:
    """The names that something goes by: `batch` and `obs` in `batch.obs`, `batch["obs"]`."""
    match array:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=owner, attr=name):
            return [*_names_in(owner), name]
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))):
            return [*_names_in(owner), name]
        case _:
            return []


def _is_of_batch(array: ast.expr, mapped: Mapped) -> bool:
    """Whether something is called after all that the map goes along.

    One trajectory has a first step, and one example a first component.
    """
    names = _names_in(array)
    says_batch = any(_says_batch(name) for name in names)
    is_of_it = says_batch and (not mapped.axis or is_batch(mapped.axis))
    return is_of_it or any(mapped.is_named(name) or mapped.is_of_many(name) for name in names)


def _says_batch(name: str) -> bool:
    is_of_it = is_plural(name) and any(is_batch(it) for it in words_of(name) if len(it) > 1)
    return is_of_it or bool(_BATCH & set(words_of(name)))


def says_reduced(name: str) -> bool:
    """Whether a name for the result of a reduction says that this was over the batch."""
    return bool(_BATCH & set(words_of(name)))


def _means_batch(target: str, array: ast.expr, mapped: Mapped) -> bool:
    """Whether what is reduced over axis 0, or the result, is called after the batch."""
    if says_reduced(target):
        return True
    names = _names_in(array)
    is_batch_word = bool(_BATCH & set(names)) and (not mapped.axis or is_batch(mapped.axis))
    return mapped.is_certain and (is_batch_word or any(map(mapped.is_named, names)))


_BATCH = frozenset(("batch", "minibatch"))
_COUNTING = frozenset(("size", "num", "n", "count", "number", "len", "total"))
_DATA = frozenset("data dataset train training observations datapoints examples points".split())


def _counts_data(value: ast.expr) -> bool:
    """Whether something is called after how many data there are: `num_data`, `n_train`."""
    words = set(words_of((_names_in(value) or [""])[-1]))
    return bool(words & _COUNTING) and bool(words & _DATA)


@remembered
def _own_nodes(function: ast.AST) -> list[ast.AST]:
    """The code of a function without that of functions inside of it."""
    found = [function]
    for node in found:  # which grows
        found += [it for it in children(node) if not isinstance(it, _INNER)]
    return found


_INNER = (ast.FunctionDef, ast.Lambda, ast.ClassDef)


def _reduced_over_first(value: ast.expr) -> ast.expr | None:
    """`x` in `x.mean(axis=0)` and `jnp.mean(x, 0)`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    owner, args, axis = _called_on(value)
    axis = axis or (args[0] if args else None)
    is_first = isinstance(axis, ast.Constant) and axis.value == 0
    is_reduction = value.func.attr in ("mean", "sum", "std", "var", "max", "min")
    return owner if is_first and is_reduction else None


def _counts_batch(name: str, axis: str) -> bool:
    """`batch_size`, `num_envs`, `population`: how many independent elements there are."""
    noun = _counted(name)
    own = {"population", axis, f"{axis}s"} - {"", "s"}
    return noun in own or (is_batch(noun) and len(noun) > 1)


def _counted(name: str) -> str:
    """What a name counts: the last of several nouns, as `num_env_steps` are steps of one env."""
    words = words_of(name)
    words = words[: words.index("per")] if "per" in words else words
    at = next((it for it, word in enumerate(words) if word in _COUNTING), None)
    if at is None:
        return words[0] if len(words) == 1 else ""
    return words[-1] if at == 0 else words[at - 1]


def _is_length_of_batch(name: str, array: ast.expr, lane: Mapped) -> bool:
    """Whether what is called a batch is counted, of which a lane has one element."""
    is_count = bool(_COUNTING & set(words_of(name))) and not is_feature(name)
    return is_count and lane.is_single and bool(_BATCH & set(_names_in(array)))


def counts_axis(name: str, axis: str) -> bool:
    """Whether a name counts the elements of an axis: `n_particles` those of `particle`."""
    return _counted(name) in (axis, f"{axis}s")
