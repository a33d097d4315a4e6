"""Optimisers that are put together without anything that turns gradients into steps downhill."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Call
from ...graph import Node
from ...values import Constant, Data, Mapping, Sequence, Value, nodes_of
from ..gradients.climbing import goes_up, sign_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

# What keeps the sign of what it is given.
_KEEPING = frozenset(
    "clip clip_by_global_norm clip_by_block_rms adaptive_grad_clip scale_by_adam scale_by_adamax "
    "scale_by_rms scale_by_rss scale_by_stddev scale_by_yogi scale_by_radam scale_by_belief "
    "scale_by_lion scale_by_amsgrad scale_by_trust_ratio scale_by_novograd trace ema identity "
    "zero_nans add_decayed_weights add_noise centralize".split()
)
_SCHEDULES = frozenset(
    "constant_schedule cosine_decay_schedule cosine_onecycle_schedule exponential_decay "
    "linear_onecycle_schedule linear_schedule polynomial_schedule warmup_constant_schedule "
    "warmup_cosine_decay_schedule warmup_exponential_decay_schedule join_schedules "
    "piecewise_constant_schedule".split()
)


def uphill(facts: SourceFacts) -> Iterator[tuple[Call, Call]]:
    """Chains of which each part keeps the sign, with where their updates are added."""
    chains = {
        it.result.node: it
        for it in facts.calls(("optax.chain",))
        if isinstance(it.result, Data) and it.args and not it.keywords and _keeps_sign(facts, it)
    }
    if not chains:
        return
    told: set[Call] = set()
    for call in facts.calls(("optax.apply_updates",)):
        for node in nodes_of(call.args[1]) if len(call.args) > 1 else ():
            owner = _optimiser(node)
            chain = chains.get(owner) if owner is not None else None
            if chain is None or chain in told:
                continue
            if goes_up(facts, node.inputs[0]):
                told.add(chain)
                yield chain, call


def _keeps_sign(facts: SourceFacts, chain: Call) -> bool:
    parts = [_part(facts, it) for it in chain.args]
    # Without any part that scales, somebody else may still do that.
    return all(parts) and any(it.startswith(("scale", "trace")) for it in parts)


def _part(facts: SourceFacts, value: Value) -> str:
    """The name of a part that certainly keeps the sign; else nothing."""
    if not isinstance(value, Data) or not value.type.startswith("optax."):
        return ""
    name = value.type.rpartition(".")[2]
    if name in _KEEPING:
        return name
    if name not in ("scale", "scale_by_schedule"):
        return ""
    call = _call(facts, value)
    given = call.args[0] if call is not None and call.args else None
    if name == "scale":
        number = given.value if isinstance(given, Constant) else None
        return name if isinstance(number, (int, float)) and number > 0 else ""
    return name if given is not None and _is_positive(facts, given) else ""


def _is_positive(facts: SourceFacts, schedule: Value) -> bool:
    """Whether a schedule is one of optax's, and no number is negative of which it is made."""
    made_by = schedule.type.rpartition(".")[2] if isinstance(schedule, Data) else ""
    call = _call(facts, schedule) if isinstance(schedule, Data) else None
    if made_by not in _SCHEDULES or call is None:
        return False
    parts = [part for it in (*call.args, *call.keywords.values()) for part in _parts_of(it)]
    return all(
        _is_positive(facts, it)
        if isinstance(it, Data) and it.type.startswith("optax.")
        else sign_of(it) > 0
        for it in parts
    )


def _parts_of(value: Value) -> list[Value]:
    """What is joined, or the one value itself; the scales of a piecewise schedule."""
    if isinstance(value, Sequence):
        return list(value.items or ())
    return list(value.items.values()) if isinstance(value, Mapping) else [value]


def _call(facts: SourceFacts, value: Data) -> Call | None:
    for call in facts.calls((value.type,)):
        if isinstance(call.result, Data) and call.result.node is value.node:
            return call
    return None


def _optimiser(updates: Node) -> Node | None:
    """What made updates, if these are the first result of its `update`."""
    if updates.operation != "item" or updates.label != "0" or not updates.inputs:
        return None
    update = updates.inputs[0]
    if update.operation != ".update" or not update.inputs:
        return None
    owner = update.inputs[0]
    while owner.operation in ("turn", "carry", "lane") and owner.inputs:
        owner = owner.inputs[0]
    return owner
