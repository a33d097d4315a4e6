"""Advantages and returns that are summed from the wrong end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Severity
from ...source.edits import with_argument
from ...source.events import Loop
from ...source.queries.episodes.recurrence import trains
from ...source.queries.loops.bodies import behind, body_frame, paired_leaves
from ...source.queries.loops.direction import is_counted_back, is_turned_round
from ...source.queries.names import local_name, names_of
from ...source.queries.nodes import nodes_by
from ...source.values import Constant, Data, leaves
from ...words import is_reward, is_value_estimate, words_of
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Forward scans that discount what was, out of rewards and values of what is to come."""
    from ...trace.describe import tensor_of
    from ...trace.recurrence import Feedback, feedback, trains

    for step in facts.steps:
        if step.kind != "scan" or trains(step) or not facts.is_users(step):
            continue
        if not _scans_estimates(step):
            continue
        loop = step.detail
        discounted = [
            carry
            for index, carry in enumerate(loop.carry)
            if feedback(facts.variation, step, index) is Feedback.RECURRENT
            and _is_discounted(carry, loop.carried[index])
        ]
        if not discounted:
            continue
        if loop.reverse or any(_is_flipped(value) for value in loop.scanned):
            continue
        yield RULE.finding(
            facts.place(step),
            current=f"the scan runs forwards in time, so {tensor_of(facts, discounted[0])} adds up "
            "discounted errors of earlier steps",
            expected="advantages and returns add up what comes after a step: the recursion runs "
            "from the last step to the first",
            fix="give the scan `reverse=True`",
        )


def _scans_estimates(step: Step) -> bool:
    """Whether rewards and estimates of value enter a scan, as they are or made into errors."""
    from ...trace.liveness import needed_for

    loop = step.detail
    behind = needed_for(loop.scanned)
    names = [value.name for value in (*behind, *loop.slices) if value.name]
    return any(map(is_reward, names)) and any(map(is_value_estimate, names))


def _is_discounted(carry: Value, carried: Value) -> bool:
    """Whether a leaf is fed back through a factor: carried = something + factor * carry."""
    total = carried.producer
    if total is None or total.primitive not in ("add", "add_any", "sub"):
        return False
    for part in total.inputs:
        factor = part
        for _ in range(6):
            product = factor.producer
            if product is None or product.primitive not in ("mul", "select_n"):
                break
            if carry in product.inputs:
                return True
            factor = next((it for it in product.inputs if it.producer is not None), factor)
    return False


def _is_flipped(value: Value) -> bool:
    for _ in range(8):
        step = value.producer
        if step is None or not step.inputs:
            return False
        if step.primitive == "rev":
            return True
        value = step.inputs[0]
    return False


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Forward scans over rewards and values that discount what was."""
    for loop in facts.events(Loop):
        reverse = loop.options.get("reverse", Constant(False))
        forward = isinstance(reverse, Constant) and not reverse.value
        if (
            loop.kind != "scan"
            or not forward
            or trains(loop.carry_out)
            or not _estimates(facts, loop)
        ):
            continue
        for before, after in paired_leaves(loop.carry_in, loop.carry_out):
            if not _feeds_back_discounted(after.node, before.node) or _is_average(after.node):
                continue
            name = local_name(facts, body_frame(facts, loop), before, after)
            if not _LEARNED.isdisjoint(words_of(name)):
                continue  # Parameters that follow others in small steps.
            yield RULE.finding(
                loop.place,
                current=f"the scan runs forwards in time, so `{name}` adds up "
                "discounted errors of earlier steps",
                expected="advantages and returns add up what comes after a step: the recursion "
                "runs from the last step to the first",
                fix="give the scan `reverse=True`",
                engine=Engine.SOURCE,
                edit=with_argument(loop.frame, loop.syntax, "reverse", "True"),
            )

    yield from _summed_forwards(facts)


def _summed_forwards(facts: SourceFacts) -> Iterator[Verdict]:
    """Sums `cumsum(x * w) / w` with weights `w = gamma ** t`: of all that was, and not discounted.

    Only from the last step to the first does the division leave a discount.
    """
    sums = ("jax.numpy.cumsum", "ndarray.cumsum")
    if not any(name in facts.calls_by_name for name in sums):
        return
    for node in nodes_by(facts, ("/",)):
        if len(node.inputs) != 2 or node.place is None:
            continue
        total, weights = node.inputs
        product = total.inputs[0] if total.operation in sums and total.inputs else None
        if product is None or product.operation != "*" or weights not in product.inputs:
            continue
        if _is_discount(facts, weights):
            yield RULE.finding(
                node.place,
                current="the sum runs forwards in time, and the division by "
                f"`{facts.name_of(Data(weights))}` makes earlier steps count more and more",
                expected="returns add up what comes after a step: the sum runs from the last step "
                "to the first",
                fix="reverse the axis of time before the sum and after it, with `jnp.flip`",
                engine=Engine.SOURCE,
            )


def _is_discount(facts: SourceFacts, weights: Node) -> bool:
    """Whether weights are powers of a number below one, by its value or its name."""
    if weights.operation != "**" or len(weights.operands) != 2:
        return False
    base, times = weights.operands
    if not isinstance(times, Data) or times.node.operation != "jax.numpy.arange":
        return False
    if isinstance(base, Constant):
        return isinstance(base.value, float) and 0.0 < base.value < 1.0
    names = names_of(facts, base.node, weights.frame) if isinstance(base, Data) else set[str]()
    return any(not _DISCOUNTS.isdisjoint(words_of(name)) for name in names)


_DISCOUNTS = frozenset("gamma discount discounts".split())
_LEARNED = frozenset("params param parameters weights opt ema".split())


def _estimates(facts: SourceFacts, loop: Loop) -> bool:
    """Whether rewards and estimates of value are scanned, in the order in which they came."""
    frame = body_frame(facts, loop)
    nodes = behind(loop.xs)
    if any(map(is_turned_round, nodes)):
        return False
    slices = [leaf.node for leaf in leaves(loop.slices)] if loop.slices is not None else []
    used = [it for it in behind(loop.returned) if it.operation in ("field", "item")]
    if any(map(is_counted_back, used)):
        return False
    names = {name for node in nodes for name in names_of(facts, node, loop.frame)}
    names |= {name for node in (*slices, *used) for name in names_of(facts, node, frame)}
    return any(map(is_reward, names)) and any(map(is_value_estimate, names))


def _feeds_back_discounted(after: Node, before: Node) -> bool:
    """Whether a leaf is fed back through a factor: after = something + factor * before."""
    if after.operation not in ("+", "-") or len(after.inputs) < 2:
        return False
    for part in after.inputs:
        factors = [part]
        for _ in range(6):
            product = factors[-1]
            if product.operation not in ("*", "jax.numpy.where"):
                break
            if before in product.inputs:
                return True
            factors.append(next((it for it in product.inputs if it.depends_on(before)), product))
    return False


def _is_average(node: Node) -> bool:
    """Whether a sum is of parts whose factors make one: `(1 - tau) * a + tau * b`."""
    return any(
        isinstance(it.syntax, ast.BinOp)
        and isinstance(it.syntax.op, ast.Sub)
        and isinstance(it.syntax.left, ast.Constant)
        and it.syntax.left.value == 1
        for part in node.inputs
        for it in (part, *part.inputs)
    )


RULE = Rule(
    code="EN003",
    name="advantages-forward",
    title="A recursion over rewards and values runs forwards in time",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Returns and generalised advantages of a step add up what comes after it, so their recursion starts
at the end of the rollout. A scan without `reverse=True` adds up the past instead; shapes are the
same and training merely does not work.

Reported when rewards and value estimates (by their names) enter a forward scan that feeds a part
of its carry back through a factor. Also for `cumsum(x * w) / w` with powers of a discount.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(rewards, values, next_values):
    def step(gae, inp):
        reward, value, next_value = inp
        gae = reward + 0.99 * next_value - value + 0.94 * gae
        return gae, gae

    return jax.lax.scan(step, jnp.zeros(3), (rewards, values, next_values))[1]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones((6, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(rewards, values, next_values):
    def step(gae, inp):
        reward, value, next_value = inp
        gae = reward + 0.99 * next_value - value + 0.94 * gae
        return gae, gae

    return jax.lax.scan(step, jnp.zeros(3), (rewards, values, next_values), reverse=True)[1]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones((6, 3))
""",
    trace=check,
    source=check_source,
)
