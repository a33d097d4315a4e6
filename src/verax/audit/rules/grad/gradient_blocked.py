"""Differentiated inputs that get no gradient, because nothing on their way has a derivative."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity, Verified
from ...source.events import Event
from ...source.queries.blame import wrongly_called_at
from ...source.queries.gradients.custom_derivatives import return_place
from ...source.queries.gradients.flatness import STOP, is_integer
from ...source.queries.gradients.flows import Flow as FlowRead
from ...source.queries.gradients.flows import flows
from ...source.queries.gradients.straight_through import ReadEstimators
from ...source.queries.gradients.trained_parts import is_trained
from ...source.values import Transformed, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...finding import Place
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.gradients import Flow, Link, Parameter


def check(facts: Facts) -> Iterator[Finding | Verified]:
    """Report inputs with a gradient that is zero everywhere; else say that all are reached."""
    from ...trace.straight_through import TracedEstimators

    for flow in facts.gradients.flows:
        lost = flow.without_gradient()
        explained = 0
        for it in TracedEstimators(flow).exchanged() if lost else ():
            explained |= flow.uses(it.hard)
        groups: dict[Link, list[Parameter]] = {}
        for parameter in lost:
            blockers = flow.blockers(parameter.bit)
            if not blockers or parameter.bit & explained:
                continue
            everything = len(lost) == len(flow.parameters)
            # Some inputs behind stop_gradient, beside others that are trained: that is meant.
            declared = any(it.blocker == "stop_gradient" for it in blockers)
            if everything or not declared:
                groups.setdefault(_main(facts, blockers), []).append(parameter)
        for link, parameters in groups.items():
            if facts.is_users(link.step):
                yield _finding(facts, flow, link, parameters)
    yield from _verified(facts)


def _main(facts: Facts, blockers: list[Link]) -> Link:
    """The blocker to show: one that is no `stop_gradient`, the last before the result."""
    others = [it for it in blockers if it.blocker != "stop_gradient"] or blockers
    return others[-1]


def _finding(facts: Facts, flow: Flow, link: Link, parameters: list[Parameter]) -> Finding:
    names = _listed([it.name for it in parameters])
    function = _named(flow) or "the function"
    stopped = link.blocker == "stop_gradient"
    certain = len(flow.without_gradient()) == len(flow.parameters)
    remedy = (
        "stop only what is meant to be constant"
        if stopped
        else "use a smooth form (softmax, interpolation, sigmoid) or a straight-through estimator"
    )
    return RULE.finding(
        facts.place(link.step),
        current=(
            f"the gradient of {function} with respect to {names} is zero everywhere: every path "
            f"to the result goes through {link.blocker}"
        ),
        expected=f"a path from {names} to the result on which every operation has a derivative",
        fix=f"{remedy}; or do not differentiate with respect to {names}",
        evidence=(Evidence("differentiated here", facts.place(flow.step)),),
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
    )


def _named(flow: Flow) -> str:
    """How to call the differentiated function; empty if it is none of the user's."""
    name, place = flow.body.function, flow.body.place
    if name == "<lambda>":
        return f"the function of line {place.line}" if place is not None else ""
    return f"`{name}`" if name else ""


def _verified(facts: Facts) -> Iterator[Verified]:
    """Functions whose gradient is whole wherever a line asks for it."""
    from ...trace.whole_gradients import is_whole

    lines: dict[tuple[str, int, str], list[Flow]] = {}
    for flow in facts.gradients.flows:
        place = facts.place(flow.step)
        lines.setdefault((place.file, place.line, _named(flow)), []).append(flow)
    for (_, _, function), flows_there in lines.items():
        if function and all(is_whole(facts, it) for it in flows_there):
            flow = flows_there[0]
            names = dict.fromkeys(it.name for each in flows_there for it in each.parameters)
            yield RULE.verified(
                f"the gradient of {function} reaches {_listed(list(names))}",
                "every operation between them and the result has a derivative, but for what "
                "`stop_gradient` cuts",
                facts.place(flow.step),
            )


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{it}`" for it in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading: with respect to a whole argument, or to an entry of a dict."""
    for flow in flows(facts):
        lost = flow.without_gradient() if flow.is_certain else []
        explained = 0
        for it in ReadEstimators(flow).exchanged() if lost else ():
            explained |= flow.uses(it.hard)
        everything = len(lost) == len(flow.parameters)
        for parameter in lost:
            blockers = flow.blockers(parameter.bit)
            others = [it for it in blockers if it[0].operation != STOP]
            meant = not everything and (
                len(others) < len(blockers) or not is_trained(flow, parameter.node)
            )
            if not blockers or meant or parameter.bit & explained:
                continue
            node, reason = (others or blockers)[-1]
            place = _blocked_at(facts, node)
            if place is not None:
                yield _read(flow, node, place, flow.name(parameter.node), reason, everything)


def _blocked_at(facts: SourceFacts, node: Node) -> Place | None:
    """Where a gradient is lost: where a function is called that is right for what is not trained.

    Ranks of data, say, are fine, and those of a prediction are not. Who asks a function for indices
    and makes a loss of them loses the gradient, and not the function that finds them.
    """
    if node.frame is None or node.syntax is None:
        return node.place
    told_at = _flat_rule_at(facts, node.frame) or _indices_asked_for_at(node.frame)
    if told_at is not None:
        return told_at

    return wrongly_called_at(
        facts, Event(node.syntax, node.frame), lambda run: _needs_no_gradient(facts, run)
    )


def _needs_no_gradient(facts: SourceFacts, run: Frame) -> bool:
    """Whether a call is of data, or only for what is no loss: a metric beside it."""
    # One call is gone through several times, also without its derivative.
    runs = facts.record.runs.get(run.function, ()) if run.function is not None else ()
    same = [it for it in runs if it.called_at is run.called_at]
    given = [node for it in same for value in it.given.values() for node in nodes_of(value)]
    made = {node for it in same for _, value in it.returns for node in nodes_of(value)}
    is_of_data = not any(flow.uses(it) for flow in flows(facts) for it in given)
    return bool(given) and (
        is_of_data or (bool(made) and all(made.isdisjoint(it.order) for it in flows(facts)))
    )


def _flat_rule_at(facts: SourceFacts, frame: Frame) -> Place | None:
    """Where the rule of a function returns its zeros, which was there to give a gradient."""
    for region in frame.region.chain() if frame.region is not None else ():
        transformed = region.details.get("transformed")
        rules = transformed.rules if isinstance(transformed, Transformed) else {}
        for rule in (it for name, it in rules.items() if name in ("bwd", "jvp")):
            return return_place(facts, rule)
    return None


def _indices_asked_for_at(frame: Frame) -> Place | None:
    """Where a function is called that returns nothing but integers, through however many."""
    place: Place | None = None
    while frame.caller is not None and isinstance(frame.called_at, ast.Call) and frame.returns:
        results = [it for _, value in frame.returns for it in nodes_of(value)]
        if (
            not results
            or not all(map(is_integer, results))
            or frame.region is not frame.caller.region
        ):
            break
        place = frame.caller.place(frame.called_at)
        frame = frame.caller
    return place


def _read(
    flow: FlowRead, node: Node, place: Place, name: str, reason: str, certain: bool
) -> Finding:
    remedy = (
        "stop only what is meant to be constant"
        if node.operation == STOP
        else "use a smooth form (softmax, interpolation, sigmoid) or a straight-through estimator"
    )
    return RULE.finding(
        place,
        current=f"the gradient with respect to `{name}` is zero everywhere: every path to the "
        f"result goes through {reason}",
        expected=f"a path from `{name}` to the result on which every operation has a derivative",
        fix=f"{remedy}; or do not differentiate with respect to `{name}`",
        evidence=(
            *(() if place == node.place else (Evidence("lost here", node.place),)),
            Evidence("differentiated here", flow.event.place),
        ),
        engine=Engine.SOURCE,
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
    )


RULE = Rule(
    code="GR010",
    name="gradient-blocked",
    title="A differentiated input gets no gradient",
    family="grad",
    severity=Severity.CRITICAL,
    exact="the trace shows every path from the input, and no derivative comes back on any",
    by_absence=True,
    proves_all=True,
    explanation="""\
`argmax`, rounding, comparisons and integer indices have no derivative: what reaches the result only
through them gets a gradient of exactly zero. Nothing fails; the parameter is never trained.

An input that is behind `stop_gradient` while others are trained is taken to be meant so.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def reward(w, x, values):
    best = jnp.argmax(x @ w)
    return values[best]

def entry(w, x, values):
    return jax.grad(reward)(w, x, values)

def inputs():
    return jnp.ones((3, 4)), jnp.ones(3), jnp.arange(4.0)
""",
    right="""\
import jax
import jax.numpy as jnp

def reward(w, x, values):
    chances = jax.nn.softmax(x @ w)
    return chances @ values

def entry(w, x, values):
    return jax.grad(reward)(w, x, values)

def inputs():
    return jnp.ones((3, 4)), jnp.ones(3), jnp.arange(4.0)
""",
    trace=check,
    source=check_source,
)
