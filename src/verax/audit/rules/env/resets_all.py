"""One finished environment resets all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Evidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.axes.axis import Axis
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Choices for a whole batch that hang on a flag of any of its elements."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        if (step.kind != "cond" and step.primitive != "select_n") or not facts.is_users(step):
            continue
        reduction = _any_of_flags(step.inputs[0])
        if reduction is None:
            continue
        flags = reduction.inputs[0]
        axes = [facts.axes[flags][index] for index in reduction.params["axes"]]
        replaced = next(_replaced(facts, step, axes), None)
        if replaced is None:
            continue
        value, axis = replaced
        name = axis.label or f"of size {flags.shape[reduction.params['axes'][0]]}"
        yield RULE.finding(
            facts.place(step),
            current=f"as soon as any flag along axis {name} is set, all of "
            f"{tensor_of(facts, value)} is replaced, also elements whose own flag is not set",
            expected=f"each element of axis {name} is replaced by its own flag",
            fix="`jnp.where(done[:, None], fresh, state)` with the flag's axes lined up, or "
            "`jax.vmap` of a function that decides for one element",
            evidence=(Evidence(f"{tensor_of(facts, flags)} becomes one flag", reduction.place),),
        )


def _any_of_flags(choice: Value) -> Step | None:
    """The reduction of several flags to one that a choice hangs on."""
    for _ in range(8):
        step = choice.producer
        if step is None or step.kind != "operation" or choice.shape != ():
            return None
        if step.primitive in _JOINING and step.inputs[0].shape:
            return step if _are_flags(step.inputs[0]) else None
        if step.primitive not in ("convert_element_type", "squeeze", "reshape", "copy", "ne", "gt"):
            return None
        choice = step.inputs[0]
    return None


_JOINING = ("reduce_or", "reduce_max", "reduce_sum")


def _are_flags(value: Value) -> bool:
    """Whether a value is boolean, or was before it became a number; not whether it is finite."""
    producer = value.producer
    if producer is not None and producer.primitive == "convert_element_type":
        value = producer.inputs[0]
    return str(value.dtype) == "bool" and not _asks_for_nan(value)


def _asks_for_nan(value: Value) -> bool:
    """Whether flags say where a computation has failed: then all of its result is void."""
    step = value.producer
    while step is not None and step.primitive in ("not", "reduce_or", "reduce_and"):
        step = step.inputs[0].producer
    if step is None:
        return False
    return step.primitive == "is_finite" or (
        step.primitive == "ne" and step.inputs[0] is step.inputs[1]
    )


def _replaced(facts: Facts, step: Step, axes: list[Axis]) -> Iterator[tuple[Value, Axis]]:
    """Values with the axis of the flags that one side keeps and the other replaces."""
    from ...trace.liveness import needed_for

    for index, out in enumerate(step.outputs):
        if step.kind == "cond":
            sides = [branch.outputs[index] for branch in step.bodies]
            given = set(step.inputs)
        else:
            sides = list(step.inputs[1:])
            given = set(sides)
        shared = [axis for axis in facts.axes[out] if axis in axes]
        # A size alone does not say that two axes are the same.
        if len(sides) != 2 or not shared:
            continue
        judged = _varying(needed_for([step.inputs[0]]))
        for kept, fresh in (sides, sides[::-1]):
            # The flags look at what is kept; what replaces it has nothing to do with either.
            replaced = kept in given and not judged.isdisjoint(needed_for([kept]))
            if replaced and judged.isdisjoint(needed_for([fresh])):
                yield out, shared[0]
                return


def _varying(values: Iterable[Value]) -> set[Value]:
    return {value for value in values if not value.is_constant}


RULE = Rule(
    code="EN001",
    name="resets-all",
    title="One finished environment resets all of them",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`lax.cond(jnp.any(done), …)` (or a `jnp.where` on `jnp.any(done)`) decides once for the whole batch:
as soon as one environment is done, all of them start anew, in the middle of their episodes.

Reported when a choice hangs on "any" of the flags along an axis, one side keeps values that have
this axis, and the other replaces them by something that does not depend on them.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(pos):
    done = jnp.abs(pos).max(axis=-1) > 2.0
    return jax.lax.cond(jnp.any(done), lambda: jnp.zeros_like(pos), lambda: pos)


def inputs():
    return (jnp.ones((3, 2)),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(pos):
    done = jnp.abs(pos).max(axis=-1) > 2.0
    return jnp.where(done[:, None], jnp.zeros_like(pos), pos)


def inputs():
    return (jnp.ones((3, 2)),)
""",
    trace=check,
)
