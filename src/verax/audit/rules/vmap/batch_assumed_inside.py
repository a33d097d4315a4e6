"""A mapped function that still believes in its batch axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.axes import names_of
from ...source.operations import DEVIATIONS
from ...source.queries.arrays import array_in_words, shape_in_words
from ...source.queries.handing import handed_in_at, is_key
from ...source.queries.loops.divided_lanes import divided_in_lanes
from ...source.queries.loops.lanes import (
    Lane,
    differences_to_end,
    ends_of_another_axis,
    lanes_in,
    lengths_of_lanes,
    runs_inside_maps,
)
from ...source.queries.loops.named_reductions import named_reductions
from ...source.queries.loops.others_counted import counted_by_a_lane
from ...source.text import text_of
from ...source.values import Data
from ...words import is_feature, words_of
from .._rule import Rule, Verdict
from ._batch_names import Mapped, assumptions, counts_axis, says_reduced

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Reads of axis 0 as the batch, in functions that a vmap has taken the batch from."""
    for step in facts.steps:
        body = step.bodies[0] if step.kind == "map" else None
        if body is None or body.place is None:
            continue
        function = facts.sources.function(body.place)
        if function is None:
            continue
        mapped = _mapped_parameters(facts, step)
        for it in assumptions(function, lambda array, mapped=mapped: mapped.get(text_of(array))):
            line, column = it.syntax.lineno, it.syntax.col_offset + 1
            place = Place(body.place.file, line, column, body.function)
            parameter = text_of(it.array)
            shape = _inner_shape(facts, step, parameter)
            yield RULE.finding(
                place,
                current=f"{it.what}, but {parameter} is one element of the mapped axis here "
                f"({shape}): axis 0 is not the batch any more",
                expected=_EXPECTED,
                fix=_FIX.format(parameter=parameter),
                evidence=(Evidence(f"{body.function} is mapped here", step.place),),
            )


def _mapped_parameters(facts: Facts, step: Step) -> dict[str, Mapped]:
    """Parameters that are arrays with their first axis mapped away, by name."""
    mapping, over = step.detail, facts.axes.over[step].label
    inner = step.bodies[0].inputs[len(mapping.closed_over) :]
    rows = {inside for whole, inside, _ in mapping.mapped if not over and _may_be_pairs(whole)}
    return {
        name: Mapped(over, bool(over), _first_label(facts, value))
        for name, axis, value in zip(mapping.arguments, mapping.in_axes, inner, strict=False)
        if axis == 0 and value not in rows
    }


def _first_label(facts: Facts, value: Value) -> str:
    axes = facts.axes[value]
    return axes[0].label if axes else ""


def _may_be_pairs(whole: Value) -> bool:
    """Whether something is computed, and may have one number for each and each: similarities."""
    return whole.producer is not None and len(set(whole.shape[:2])) == 1 < len(whole.shape)


def _inner_shape(facts: Facts, step: Step, parameter: str) -> str:
    from ...trace.describe import tensor_of

    mapping = step.detail
    inner = step.bodies[0].inputs[len(mapping.closed_over) :]
    index = mapping.arguments.index(parameter)
    return str(tensor_of(facts, inner[index])) if index < len(inner) else "no batch axis"


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
        if frame.function is None:
            continue
        find = lanes_in(frame)
        for it in assumptions(frame.function, lambda array, find=find: _mapped(find(array))):
            node, name, lane = it.syntax, text_of(it.array), find(it.array)
            is_whole = isinstance(node, ast.Subscript) and lane is not None and not lane.is_array
            if node in said or is_whole or lane is None:
                continue
            said.update((node, *node.targets) if isinstance(node, ast.Assign) else (node,))
            yield RULE.finding(
                frame.place(node),
                current=f"{it.what}, but {name} is one element of the mapped axis here "
                f"({shape_in_words(lane.array.node.shape)}): axis 0 is not the batch any more",
                expected=_EXPECTED,
                fix=_FIX.format(parameter=name),
                evidence=(Evidence(f"{frame.name} is mapped here", lane.region.place),),
                engine=Engine.SOURCE,
            )
    for it in named_reductions(facts, says_reduced):
        if it.statement in said:
            continue
        said.add(it.statement)
        name = text_of(it.call.syntax)
        yield RULE.finding(
            it.frame.place(it.statement),
            current=f"`{it.name}` is taken over axis 0 by `{name}`, of what is one element of the "
            f"mapped axis here ({shape_in_words(it.lane.array.node.shape)}): axis 0 is not the "
            "batch any more",
            expected=_EXPECTED,
            fix=_FIX.format(parameter=facts.name_of(it.lane.array)),
            evidence=(Evidence(f"{it.frame.name} is mapped here", it.lane.region.place),),
            engine=Engine.SOURCE,
        )
    for counted in lengths_of_lanes(facts):
        name = text_of(counted.target)
        if counted.target in said or not counts_axis(name, counted.axis):
            continue
        said.add(counted.target)
        yield RULE.finding(
            counted.frame.place(counted.target),
            current=f"`{name}` is the length of `{facts.name_of(counted.array)}`, which is one "
            f"element of {counted.axis} here ({shape_in_words(counted.array.node.shape)})",
            expected=_EXPECTED,
            fix=_FIX.format(parameter=facts.name_of(counted.array)),
            evidence=(Evidence("the map", counted.region.place),),
            engine=Engine.SOURCE,
        )
    for it in divided_in_lanes(facts):
        if it.at in said:
            continue
        said.add(it.at)
        yield RULE.finding(
            it.frame.place(it.at),
            current=f"a sum over other things is divided by the length of `{text_of(it.array)}`, "
            "one element of the mapped axis here "
            f"({shape_in_words(it.lane.array.node.shape)}), and then all elements are summed",
            expected=_EXPECTED,
            fix="divide by the number of elements outside, or take their mean there",
            evidence=(
                Evidence("all elements are summed here", it.total.place),
                Evidence("the map", it.lane.region.place),
            ),
            engine=Engine.SOURCE,
        )
    yield from _others_counted(facts, said)
    yield from _deviations(facts)
    yield from _first_components(facts)
    for it in ends_of_another_axis(facts):
        if it.syntax in said:
            continue
        said.add(it.syntax)
        first, second = names_of(it.array.node.shape)[:2]
        yield RULE.finding(
            it.frame.place(it.syntax),
            current=f"`{text_of(it.syntax)}` is one {second} at each {first}, and called "
            f"`{it.name}`: without the mapped axis, axis 1 is {second}",
            expected=f"an end of {first} is picked along {first}, axis 0 here",
            fix=f"`{text_of(it.syntax.value)}[-1]`, or pick it outside of the map",
            evidence=(Evidence("the map", it.region.place),),
            engine=Engine.SOURCE,
        )


def _others_counted(facts: SourceFacts, said: set[ast.AST]) -> Iterator[Finding]:
    """Means over all but one, by the length of one."""
    for it in counted_by_a_lane(facts):
        if it.at in said:
            continue
        said.add(it.at)
        one, whole = text_of(it.array), array_in_words(facts, Data(it.whole))
        yield RULE.finding(
            it.frame.place(it.at),
            current=f"a sum over the rows of {whole} is divided by the length of `{one}` less one, "
            f"which is one row here ({shape_in_words(it.lane.array.node.shape)})",
            expected="a sum over all but one is divided by how many there are, less one",
            fix="take the length of what the sum goes over",
            evidence=(
                Evidence("the sum", it.total.place),
                Evidence("the map", it.lane.region.place),
            ),
            engine=Engine.SOURCE,
        )


def _mapped(lane: Lane | None) -> Mapped | None:
    if lane is None or not lane.lost_batch:
        return None
    left = names_of(lane.array.node.shape)
    return Mapped(lane.axis, lane.is_certain, left[0] if left else "", lane.is_single)


def _first_components(facts: SourceFacts) -> Iterator[Finding]:
    """Components of one element, each without the first or the last one of them."""
    for array, end, region, over in differences_to_end(facts):
        axis = names_of(array.node.shape)[0]
        if end.node.place is None or not is_feature(axis) or _CHOICES & set(words_of(axis)):
            continue
        name = facts.name_of(array)
        yield RULE.finding(
            end.node.place,
            current=f"`{facts.name_of(end)}` is a single {axis} of one {over} here, and taken "
            f"from all of its {axis}: `{name}` has lost {over} to the map",
            expected=_EXPECTED,
            fix=_FIX.format(parameter=name),
            evidence=(Evidence("the map", region.place),),
            engine=Engine.SOURCE,
        )


# Scores of these are told apart from one of them.
_CHOICES = frozenset("class classes act action actions out".split())


def _deviations(facts: SourceFacts) -> Iterator[Finding]:
    """Deviations of the one number that a lane has: of a batch, before it was mapped."""
    for call in facts.calls(DEVIATIONS):
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
batch (or envs, agents, examples…) or names that axis, or after many images while its axes
are those of one (also by `images.reshape(images.shape[0], -1)`), when the first or last component
of an element is taken from all of them (`x - x[0]`, where `x` has only the axis `dim`), when a
deviation is taken of the one number that an element has, as of an advantage that is standardised
inside, and when what is summed over all elements afterwards was divided inside by the length of an
axis that it is no sum over, or its logarithm lessened by that of the length; so is a sum over all
elements that is divided by the length of one of them, less one. Lengths of what is called a batch
count in helpers, too, where no part of one element can be a batch.""",
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
