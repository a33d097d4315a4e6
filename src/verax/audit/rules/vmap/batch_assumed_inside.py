"""A mapped function that still believes in its batch axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.queries.arrays import shape_in_words
from ...source.queries.handing import handed_in_at, is_key
from ...source.queries.loops.lanes import lanes_of, runs_inside_maps
from ...source.text import text_of
from ...source.values import Data
from ...words import is_batch, words_of
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step


def check(facts: Facts) -> Iterator[Verdict]:
    """Reads of axis 0 as the batch, in functions that a vmap has taken the batch from."""
    for step in facts.steps:
        body = step.bodies[0] if step.kind == "map" else None
        if body is None or body.place is None:
            continue
        function = facts.sources.function(body.place)
        if function is None:
            continue
        mapped = _mapped_parameters(step, facts.axes.over[step].label)
        for node, parameter, what in _assumptions(function, mapped):
            place = Place(body.place.file, node.lineno, node.col_offset + 1, body.function)
            shape = _inner_shape(facts, step, parameter)
            yield RULE.finding(
                place,
                current=f"{what}, but {parameter} is one element of the mapped axis here "
                f"({shape}): axis 0 is not the batch any more",
                expected=_EXPECTED,
                fix=_FIX.format(parameter=parameter),
                evidence=(Evidence(f"{body.function} is mapped here", step.place),),
            )


@dataclass(frozen=True)
class _Mapped:
    """A parameter without its first axis: what that is called, and whether it was the batch."""

    axis: str
    is_certain: bool

    def is_named(self, name: str) -> bool:
        """Whether a name is one for all elements of this axis."""
        words = words_of(name)
        is_plural = bool(self.axis) and any(it in words for it in (self.axis, f"{self.axis}s"))
        return is_plural and name.endswith("s")


def _mapped_parameters(step: Step, over: str) -> dict[str, _Mapped]:
    """Parameters that are arrays with their first axis mapped away, by name."""
    mapping = step.detail
    return {
        name: _Mapped(over, bool(over))
        for name, axis in zip(mapping.arguments, mapping.in_axes, strict=False)
        if axis == 0 and name.isidentifier()
    }


def _inner_shape(facts: Facts, step: Step, parameter: str) -> str:
    from ...trace.describe import tensor_of

    mapping = step.detail
    inner = step.bodies[0].inputs[len(mapping.closed_over) :]
    index = mapping.arguments.index(parameter)
    return str(tensor_of(facts, inner[index])) if index < len(inner) else "no batch axis"


def _assumptions(
    function: ast.AST, mapped: dict[str, _Mapped]
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
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            name = node.value.id
            first = isinstance(node.slice, ast.Constant) and type(node.slice.value) is int
            if first and name in mapped and _is_of_batch(name, mapped[name]):
                text = text_of(node)
                yield node, name, f"`{text}` is meant to pick an element of the batch"


def _is_of_batch(parameter: str, mapped: _Mapped) -> bool:
    """Whether a parameter is called after what the map goes along."""
    says_batch = is_batch(parameter) and (not mapped.axis or is_batch(mapped.axis))
    return says_batch or mapped.is_named(parameter)


def _means_batch(target: str, parameter: str, mapped: _Mapped) -> bool:
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
    owner, args = value.func.value, list(value.args)
    if isinstance(owner, ast.Name) and owner.id in ("jnp", "np", "numpy") and args:
        owner = args.pop(0)
    axis = next((it.value for it in value.keywords if it.arg == "axis"), args[0] if args else None)
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


_EXPECTED = (
    "a mapped function works on one element, and what concerns the whole batch happens outside"
)
_FIX = (
    "compute it before the vmap and pass it as an argument (with `None` in `in_axes`), or do not "
    "map {parameter}"
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Functions that run on one lane of a map, at any depth, and read its axis 0 as the batch."""
    said: set[ast.AST] = set()
    for frame in runs_inside_maps(facts):
        lanes = {name: lane for name, lane in lanes_of(frame).items() if lane.lost_batch}
        mapped = {name: _Mapped(lane.axis, lane.is_certain) for name, lane in lanes.items()}
        if frame.function is None or not mapped:
            continue
        for node, parameter, what in _assumptions(frame.function, mapped):
            lane = lanes[parameter]
            value = frame.given[parameter]
            is_whole = isinstance(node, ast.Subscript) and not lane.is_array
            if node in said or is_whole or not isinstance(value, Data):
                continue
            said.add(node)
            yield RULE.finding(
                frame.place(node),
                current=f"{what}, but {parameter} is one element of the mapped axis here "
                f"({shape_in_words(value.node.shape)}): axis 0 is not the batch any more",
                expected=_EXPECTED,
                fix=_FIX.format(parameter=parameter),
                evidence=(Evidence(f"{frame.name} is mapped here", lane.region.place),),
                engine=Engine.SOURCE,
            )
    yield from _deviations(facts)


_DEVIATIONS = tuple(f"{of}.{name}" for of in ("jax.numpy", "ndarray") for name in ("std", "var"))


def _deviations(facts: SourceFacts) -> Iterator[Finding]:
    """Deviations of the one number that a lane has: of a batch, before it was mapped."""
    for call in facts.calls(_DEVIATIONS):
        array = call.args[0] if call.args else None
        around = list(call.frame.region.chain()) if call.frame.region is not None else []
        maps = [it for it in around if it.kind in ("vmap", "pmap")]
        if not isinstance(array, Data) or array.node.shape != () or not maps:
            continue
        node = array.node
        if maps[0] in node.varies:
            name = facts.name_of(array)
            yield RULE.finding(
                handed_in_at(call, is_key(node), maps[0]),
                current=f"`{call.text}` is the deviation of one number, which is zero: `{name}` is "
                "one element of the mapped axis here",
                expected=_EXPECTED,
                fix=_FIX.format(parameter=name),
                evidence=(
                    Evidence("the deviation is taken here", call.place),
                    Evidence("the map", maps[0].place),
                ),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="VM003",
    name="batch-assumed-inside",
    title="A mapped function treats axis 0 as the batch",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Inside of a vmapped function the mapped axis is gone. `x.shape[0]`, stored as `batch_size`, is then
the number of features, and `batch[0]` is the first time step of one example instead of the first
example. Nothing fails; means are divided by the wrong number and references point at the wrong
thing.

Reported when a parameter whose leading axis is mapped is read that way under a name that says
batch (or envs, agents, examples…), and when the deviation is taken of the one number that an
element has, as of an advantage that is standardised inside.""",
    wrong="""\
import jax
import jax.numpy as jnp


def example_loss(w, x):
    batch_size = x.shape[0]
    return jnp.sum((x * w) ** 2) / batch_size


def entry(w, x):
    return jax.vmap(example_loss, in_axes=(None, 0))(w, x).sum()


def inputs():
    return jnp.ones(3), jnp.ones((8, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def example_loss(w, x):
    num_features = x.shape[0]
    return jnp.sum((x * w) ** 2) / num_features


def entry(w, x):
    batch_size = x.shape[0]
    return jax.vmap(example_loss, in_axes=(None, 0))(w, x).sum() / batch_size


def inputs():
    return jnp.ones(3), jnp.ones((8, 3))
""",
    trace=check,
    source=check_source,
)
