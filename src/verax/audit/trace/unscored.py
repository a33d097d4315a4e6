"""Draws of classes that a loss depends on, and whose chances it never asks for."""

from __future__ import annotations

from .gradients import Flow, Link
from .program import Loop, Value

_SUMS = frozenset(("add", "sub", "add_any"))


def is_unscored_draw(flow: Flow, link: Link) -> bool:
    """Whether a class is drawn by its logits, and what comes of it never meets anything trained.

    A draw has a gradient of its own kind: what it brings about, times the logarithm of its chance.
    For that it has to be put together with what is trained, in the turn in which it is drawn or
    after the loop. What the next turn makes of it has chances of another draw.
    """
    if link.step.primitive != "argmax" or not _is_noise_added(flow, link.source):
        return False
    onwards = _onwards(flow)
    made, pending = {link.target}, [link.target]
    while pending:
        value = pending.pop()
        for it in onwards.get(value, ()):
            if _is_next_turn(it):
                continue
            if _meets_trained(flow, it, made):
                return False
            if it.target not in made:
                made.add(it.target)
                pending.append(it.target)
    return True


def _onwards(flow: Flow) -> dict[Value, list[Link]]:
    found: dict[Value, list[Link]] = {}
    for link in flow.links:
        found.setdefault(link.source, []).append(link)
    return found


def _is_noise_added(flow: Flow, scores: Value) -> bool:
    """Whether scores are logits with random numbers added, which nothing trained is in."""
    step = scores.producer
    if step is None or step.primitive != "add":
        return False
    noise = [it for it in step.inputs if not flow.uses(it)]
    return len(noise) == 1 and any(
        it.producer is not None and it.producer.primitive.startswith(("random_", "threefry"))
        for it in flow.slice(noise, blocked=True)
    )


def _is_next_turn(link: Link) -> bool:
    loop = link.step.detail
    return isinstance(loop, Loop) and link.source in loop.carried and link.target in loop.carry


def _meets_trained(flow: Flow, link: Link, made: set[Value]) -> bool:
    """Whether an operation puts together what comes of a draw and what gets a gradient.

    Terms of a loss are added up, each with its own.
    """
    step = link.step
    if step.kind != "operation" or (step.primitive in _SUMS and link.target.shape == ()):
        return False
    return any(flow.gets(it) for it in step.inputs if it not in made)
