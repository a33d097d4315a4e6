"""How an optimiser is put together: in which order, and with which learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Call
from ...graph import Node
from ...values import Constant, Data, Value, nodes_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

# Whole optimisers: what they give are steps, no gradients.
OPTIMISERS = frozenset(
    "adam adamw adamax adamaxw adabelief adafactor adagrad amsgrad fromage lamb lars lion nadam "
    "nadamw noisy_sgd novograd radam rmsprop sgd sm3 yogi".split()
)
_CLIPS = frozenset(("clip", "clip_by_global_norm", "adaptive_grad_clip"))
_SCHEDULES = frozenset(
    "cosine_decay_schedule cosine_onecycle_schedule exponential_decay linear_onecycle_schedule "
    "linear_schedule polynomial_schedule warmup_constant_schedule warmup_cosine_decay_schedule "
    "warmup_exponential_decay_schedule join_schedules piecewise_constant_schedule".split()
)


def clipped_after(facts: SourceFacts) -> Iterator[tuple[Node, str]]:
    """Parts of chains that clip what a whole optimiser has made, with the optimiser's name."""
    for chain in facts.calls(("optax.chain",)):
        names = [_name(it) for it in chain.args]
        first = next((i for i, name in enumerate(names) if name in OPTIMISERS), None)
        # Who clips gradients before may well limit the steps, too.
        if first is None or not _CLIPS.isdisjoint(names[:first]):
            continue
        for part, name in zip(chain.args[first:], names[first:], strict=True):
            if name in _CLIPS and isinstance(part, Data):
                yield part.node, names[first]


def rates_asked_once(facts: SourceFacts) -> Iterator[tuple[Call, Call]]:
    """Optimisers with the rate that a schedule has at one step, and where it is asked."""
    asked = {
        node: call
        for call in facts.calls(("object.__call__",))
        if len(call.args) == 2
        and _name(call.args[0]) in _SCHEDULES
        and isinstance(call.args[1], Constant)
        for node in nodes_of(call.result)
    }
    if not asked:
        return
    for call in facts.calls(f"optax.{name}" for name in OPTIMISERS):
        rate = call.args[0] if call.args else call.keywords.get("learning_rate")
        for node in nodes_of(rate) if rate is not None else ():
            if node in asked:
                yield call, asked[node]


def _name(value: Value) -> str:
    """What of optax made a value, if that did."""
    made_by = value.type if isinstance(value, Data) else ""
    return made_by.rpartition(".")[2] if made_by.startswith("optax.") else ""
