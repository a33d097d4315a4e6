"""A column meets a row, and neither was made one on purpose."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.events import Fact
from ...source.queries.arrays import array_in_words, made_here, plain, shape_in_words
from ...source.queries.nodes import users_of
from ...source.queries.units import (
    falls_apart,
    is_only_averaged,
    is_written_in,
    kept_by_a_call,
    unit_origin,
)
from ...source.shapes import Size
from ...source.shapes.dims import show
from ...source.shapes.shape import Known, OuterProduct
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...trace.axes import Outer
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Operations on (n, 1) and (n,), where the missing axis was put in by broadcasting alone."""
    from ...trace.describe import tensor_of

    for outer in facts.axes.outers:
        column, row = _column_and_row(outer)
        if not _is_accident(facts, outer):
            continue
        axes = facts.axes
        i, j = _dimensions(outer, column)
        one, other = axes[column][i], axes[row][j]
        n, made = column.shape[i], outer.step.outputs[0]
        name = one.label or other.label or f"of size {n}"
        flat = row.producer.inputs[0] if row.producer is not None else row
        yield RULE.finding(
            _kept_by_a_helper(facts, outer.step, column) or facts.place(outer.step),
            current=f"{tensor_of(facts, column)} and {tensor_of(facts, flat)} broadcast to "
            f"{tensor_of(facts, made)}: every element of one meets every element of the other",
            expected=f"element i of axis {name} meets element i, which gives {n} values and not "
            f"{n} * {n}",
            fix=_FIX,
            confidence=Confidence.CERTAIN if _is_certain(facts, outer) else Confidence.LIKELY,
            evidence=tuple(
                Evidence(f"{tensor_of(facts, value)} is made here", value.producer.place)
                for value in (column, flat)
                if value.producer is not None
            ),
        )


def _kept_by_a_helper(facts: Facts, step: Step, column: Value) -> Place | None:
    """Where a function keeps the axis that it has reduced, for the one call that has no use for it.

    A column that is taken elsewhere too is what its function is for: then its caller is to squeeze.
    """
    from ...trace.ranges.identity import REARRANGE

    maker = column.producer
    while maker is not None and maker.primitive in _SCALING:
        maker = next((it.producer for it in maker.inputs if it.shape == column.shape), None)
    is_kept = maker is not None and maker.primitive in REARRANGE
    reduced = maker.inputs[0].producer if maker is not None and is_kept else None
    if maker is None or reduced is None or not reduced.primitive.startswith("reduce_"):
        return None
    is_alone = len(_users(maker.outputs[0])) == 1 and len(maker.frames) > len(step.frames)
    same = [it for it in facts.steps if it.place == maker.place and it.primitive == maker.primitive]
    return maker.place if is_alone and same == [maker] else None


# A caller may give a column another size or sign before it meets the row.
_SCALING = frozenset("mul div neg sub add".split())


def _users(value: Value) -> list[Step]:
    return [it for it in value.consumers if it.kind != "call"]


def _column_and_row(outer: Outer) -> tuple[Value, Value]:
    """The operand with an axis of size one behind, and the one with it in front."""
    if outer.first_dim < outer.second_dim:
        return outer.first, outer.second
    return outer.second, outer.first


def _dimensions(outer: Outer, column: object) -> tuple[int, int]:
    first = column is outer.first
    return (outer.first_dim, outer.second_dim) if first else (outer.second_dim, outer.first_dim)


def _is_accident(facts: Facts, outer: Outer) -> bool:
    """The row was promoted by the operation itself, and the column's one was not written either."""
    column, row = _column_and_row(outer)
    i, j = _dimensions(outer, column)
    if column.shape[i] != row.shape[j]:
        return False
    promotion = row.producer
    promoted = (
        promotion is not None
        and promotion.primitive in ("broadcast_in_dim", "reshape")
        and promotion.call_site == outer.step.call_site
        and promotion.call_site is not None
        and len(promotion.inputs[0].shape) < len(row.shape)
    )
    unit = outer.first_unit if column is outer.first else outer.second_unit
    axes = facts.axes
    same = axes[column][i] is axes[row][j]
    if not promoted:
        return False
    if unit not in ("", "reduced", "indexed"):
        is_far = same and _is_written_afar(facts, outer, j)
        return is_far and _falls_apart(facts, outer.step, {i, j})
    # Of several columns, (member, n, 1), a size alone may be like that of the row by chance.
    is_pile = any(size not in (1, column.shape[i]) for size in column.shape[:i])
    asked = unit != "" or is_pile
    return not asked or same or _is_averaged(facts, outer.step, {i, j})


def _is_written_afar(facts: Facts, outer: Outer, unit: int) -> bool:
    """Whether another function wrote the axis: who writes it beside the row sees the table."""
    from ...trace.axes.axis import Dimension
    from ...trace.axes.moves import way_of

    *_, (origin, _) = way_of(facts.axes, Dimension(_column_and_row(outer)[0], unit))
    maker = origin.producer
    if maker is None or not maker.frames or not outer.step.frames:
        return False
    return maker.frames[0].function != outer.step.frames[0].function


def _is_certain(facts: Facts, outer: Outer) -> bool:
    """Whether one axis meets itself, without anyone having written so."""
    column, row = _column_and_row(outer)
    i, j = _dimensions(outer, column)
    unit = outer.first_unit if column is outer.first else outer.second_unit
    return facts.axes[column][i] is facts.axes[row][j] and unit in ("", "reduced", "indexed")


def _falls_apart(facts: Facts, step: Step, dimensions: set[int]) -> bool:
    """Whether a table is summed that has no need to be one: the sum is one of sums along each axis.

    Who wants pairs does something with each before they are added up: takes a square, a mask.
    """
    return step.primitive in ("mul", "add", "sub", "div") and _is_averaged(
        facts, step, dimensions, _keeps_sums
    )


def _keeps_sums(value: Value, step: Step) -> bool:
    """Whether a step lets terms of a sum be added up apart."""
    if step.primitive in ("mul", "div"):
        others = step.inputs[1:] if step.inputs[0] is value else step.inputs[:1]
        return all(it.shape == () for it in others)
    if step.primitive.startswith("reduce_"):
        return step.primitive == "reduce_sum"
    return step.primitive in _LINEAR


_LINEAR = frozenset("add sub neg convert_element_type copy".split())


def _is_averaged(
    facts: Facts,
    step: Step,
    dimensions: set[int],
    goes_on: Callable[[Value, Step], bool] = lambda value, step: True,
) -> bool:
    """Whether the table of all pairs only ever is summed over both of its axes."""
    pending, reduced = list(step.outputs), False
    shape, seen = step.outputs[0].shape, set(step.outputs)
    while pending and len(seen) < 64:
        value = pending.pop()
        for _, user in facts.variation.made_from(value):
            if user.kind != "operation" or not goes_on(value, user):
                return False
            if user.primitive.startswith("reduce_") and dimensions <= set(user.params["axes"]):
                reduced = True
            elif user.outputs[0].shape != shape:
                return False
            elif user.outputs[0] not in seen:
                seen.update(user.outputs)
                pending.extend(user.outputs)
    return reduced and not pending


_FIX = (
    "drop the axis of size one with `jnp.squeeze`, or give the other operand one too with "
    "`jnp.expand_dims`; if every pair is meant, expand both operands explicitly"
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, where shapes are known by reading."""
    told: set[tuple[ast.AST, Frame]] = set()
    for fact in facts.events(Fact):
        if fact.kind != "outer product":
            continue
        outer, left, right = fact.data["outer"], fact.data["left"], fact.data["right"]
        if not isinstance(left, Data) or not isinstance(right, Data):
            continue
        column, row = sorted((left, right), key=lambda it: -len(it.node.shape))
        is_same = isinstance(outer.size, Size)
        # Equal numbers may be chance, but for what a network gives for one output.
        if not is_same and outer.shorter_axis != -1:
            continue
        unit = unit_origin(column.node, outer.shorter_axis)
        result = fact.data["result"].node
        is_asked = not is_same and (unit == "kept" or _is_pile(column.node.shape, outer))
        if is_asked and not is_only_averaged(result, users_of(facts)):
            continue
        if unit == "written" and (
            not is_same
            or is_written_in(column.node, outer.shorter_axis, fact.frame)
            or not falls_apart(result, users_of(facts))
        ):
            continue
        at = (fact.syntax, fact.frame)
        if at in told:  # Of three that meet, two pairs may differ alike.
            continue
        told.add(at)
        n = plain(show(outer.size))
        maker = kept_by_a_call(column.node, outer.shorter_axis, fact.frame, users_of(facts))
        yield RULE.finding(
            (maker.place if maker is not None else None) or fact.place,
            current=f"{array_in_words(facts, column)} and {array_in_words(facts, row)} broadcast "
            f"to {shape_in_words(fact.data['result'].node.shape)}: every element of one meets "
            "every element of the other",
            expected=f"element i meets element i, which gives {n} values and not {n} * {n}",
            fix=_FIX,
            confidence=Confidence.CERTAIN if is_same and unit != "written" else Confidence.LIKELY,
            evidence=made_here(facts, [column, row]),
            engine=Engine.SOURCE,
        )


def _is_pile(shape: Known, outer: OuterProduct) -> bool:
    """Whether a column is one of several: a size alone may be like that of the row by chance."""
    before = shape[: len(shape) + outer.longer_axis]
    return any(size not in (1, outer.size) for size in before)


RULE = Rule(
    code="AX002",
    name="accidental-outer",
    title="Broadcasting pairs every element with every other",
    family="axis",
    severity=Severity.CRITICAL,
    explanation="""\
Finds an elementwise operation between `(n, 1)` and `(n,)`. NumPy's rules put the missing axis in
front, so the result is an `(n, n)` table of all pairs. Means and sums of it are still scalars, so
nothing fails: a loss between predictions `(batch, 1)` and targets `(batch,)` compares each
prediction with every target.

The same holds for several columns, `(member, n, 1)`: there, sizes that are equal as numbers alone
are reported where the table is averaged and used for nothing else.

An axis that someone wrote (`x[:, None]`, `jnp.expand_dims`) is taken as meant; but not one that
another function wrote, if all that is done with the table is to add it up: the sum of all
`x[i] * y[j]` is `x.sum() * y.sum()`, for which nobody makes a table.""",
    wrong="""\
import jax.numpy as jnp


def entry(w, obs, returns):
    values = obs @ w  # (batch, 1)
    return jnp.mean((values - returns) ** 2)


def inputs():
    return jnp.ones((3, 1)), jnp.ones((6, 3)), jnp.ones(6)
""",
    right="""\
import jax.numpy as jnp


def entry(w, obs, returns):
    values = (obs @ w)[:, 0]
    pairs = obs[:, None, 0] - obs[:, 0]  # all pairs, and written so
    return jnp.mean((values - returns) ** 2) + pairs.mean()


def inputs():
    return jnp.ones((3, 1)), jnp.ones((6, 3)), jnp.ones(6)
""",
    trace=check,
    source=check_source,
)
