"""Terms of a loss that train less than they seem to, because of where gradients are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .gradients import Flow, plain, steps_of
from .loss_terms import is_even, stopped, terms
from .program import Step, Value


@dataclass(frozen=True, eq=False)
class OneSided:
    """Two terms that compare the same two values and stop the gradient of the same one."""

    first: Step
    second: Step
    stopped: Value


def one_sided(flow: Flow) -> Iterator[OneSided]:
    """Pairs of terms that both train one side of a comparison, and neither the other."""
    found: dict[tuple[int, int], tuple[int, Step]] = {}
    pairs: list[tuple[tuple[int, int], OneSided]] = []
    for number, term in enumerate(_separate_terms(flow)):
        within = flow.slice([term])
        for step in steps_of(flow.body):
            if step.primitive != "sub" or step.outputs[0] not in within:
                continue
            for side, trained in (step.inputs, reversed(step.inputs)):
                source = stopped(side)
                if source is None or not flow.uses(source) or not flow.gets(trained):
                    continue
                # A softmax takes its largest logit off, stopped: one value, and no comparison.
                if plain(trained) in flow.slice([source]):
                    continue
                sides = flow.same.number(plain(source)), flow.same.number(plain(trained))
                earlier = found.setdefault(sides, (number, step))
                if earlier[0] != number and earlier[1] is not step:
                    pairs.append((sides, OneSided(earlier[1], step, source)))
    for (one, other), pair in pairs:
        if (other, one) not in found:
            yield pair


def _separate_terms(flow: Flow) -> list[Value]:
    return [
        term.value
        for result in flow.results
        for term in terms(flow, result)
        if flow.gets(term.value)
    ]


def terms_without_gradient(flow: Flow) -> Iterator[tuple[Value, Step]]:
    """Scalar terms that depend on parameters and train none, and the error in each of them."""
    for result in flow.results:
        parts = terms(flow, result, scalars_only=True)
        for term in parts if len(parts) > 1 else []:
            if not flow.uses(term.value) or flow.gets(term.value):
                continue
            within = flow.slice([term.value], stopped=True)
            for step in steps_of(flow.body):
                is_part = step.kind == "operation" and step.outputs[0] in within
                if is_part and is_even(step) and _is_stopped(flow, step.inputs[0]):
                    yield term.value, step
                    break


def _is_stopped(flow: Flow, error: Value) -> bool:
    """Whether an error is stopped, or both of the trained values that it is the difference of."""
    if stopped(error) is not None:
        return True
    made = plain(error).producer
    if made is None or made.primitive != "sub" or flow.gets(error):
        return False
    found = [flow.blockers(flow.uses(it), [it]) for it in made.inputs]
    return all(any(link.blocker == "stop_gradient" for link in links) for links in found)
