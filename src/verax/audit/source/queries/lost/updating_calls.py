"""Calls of modules of flax that return a new state beside their output."""

from __future__ import annotations

from collections.abc import Iterator

from ....words import words_of
from ...events import Call
from ...facts import SourceFacts
from ...graph import Node
from ...text import text_of
from ...values import Constant, Instance, Mapping, Sequence, nodes_of
from ..training.optimisers import second_of

# What a module notes down for somebody to look at is no state.
_NOTES = frozenset(("intermediates", "losses", "summaries", "metrics", "perturbations"))


def mutated_states(facts: SourceFacts) -> dict[Node, tuple[str, Call]]:
    """What `apply(…, mutable=["batch_stats"])` returns anew: its first name, and the call."""
    return {
        node: (name, call)
        for call, name in updating_calls(facts)
        for node in nodes_of(second_of(call.result))
    }


def updating_calls(facts: SourceFacts) -> Iterator[tuple[Call, str]]:
    """Calls of modules that also return a new state, with the first name of it."""
    for call in facts.events(Call):
        mutable = call.keywords.get("mutable")
        if mutable is None:
            continue
        items = mutable.items if isinstance(mutable, Sequence) else [mutable]
        names = [it.value for it in items or () if isinstance(it, Constant)]
        if isinstance(mutable, Sequence) and items is None:
            names = ["state"]  # Whatever there is besides the parameters.
        if not names or not isinstance(names[0], str) or not _NOTES.isdisjoint(names):
            continue
        if _evaluates(call):
            continue  # Running averages are read then, and come back as they were.
        if any("target" in words_of(text_of(it)) for it in getattr(call.syntax, "args", ())):
            continue  # A network that only others train keeps what it has.
        yield call, names[0]


# What a module is told by, and the value that says it is only asked.
EVALUATING = {
    **dict.fromkeys(("train", "training", "is_training", "is_train"), False),
    **dict.fromkeys(("use_running_average", "deterministic", "eval_mode"), True),
}


# What a function is called that asks a trained model.
_ASKED = frozenset("eval evaluate evaluation validate predict test infer inference sample".split())


def _evaluates(call: Call) -> bool:
    """Whether a module is called to be asked, and not to be trained, as a flag or a name says."""
    if not _ASKED.isdisjoint(words_of(call.frame.name)):
        return True
    owner = call.args[0] if call.args else None
    told = {**(owner.attributes if isinstance(owner, Instance) else {}), **call.keywords}
    given = [(EVALUATING.get(name), value) for name, value in told.items()]
    return any(isinstance(it, Constant) and it.value is flag for flag, it in given)


def states_given(call: Call) -> list[Node]:
    """The collections besides the parameters that a module is applied to."""
    variables = call.args[1] if len(call.args) > 1 else None
    if not isinstance(variables, Mapping):
        return []
    return [node for key, it in variables.items.items() if key != "params" for node in nodes_of(it)]
