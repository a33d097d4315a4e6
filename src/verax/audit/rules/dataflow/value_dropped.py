"""A value that is computed for a purpose and then forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.queries.gradients.unread_gradients import unread_gradients
from ...source.queries.lost.dropped import dropped_values
from ...source.queries.lost.overwritten_terms import overwritten_terms
from ...source.queries.lost.unread_parts import unread_parts
from ...source.queries.lost.unread_siblings import doubled
from ...source.queries.lost.unread_twins import unread_twins
from ...source.queries.lost.unread_versions import unread_versions
from ...source.queries.training.unread_parameters import unread_parameters
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step


def check(facts: Facts) -> Iterator[Finding]:
    """Dead values whose original is used in their place, or with which an input is lost."""
    from ...trace.describe import listed, name_of, tensor_of
    from ...trace.dropped import dropped_values

    for it in dropped_values(facts):
        own = it.line.place
        kind = tensor_of(facts, it.value)
        computed = Evidence(f"`{it.name}` ({kind}) is computed here", own)
        if it.instead is not None:
            place = own if it.used_by is None else _beside(own, it.used_by)
            original = name_of(facts, it.instead)
            where = "is used here" if it.used_by is not None else "is returned"
            current = (
                f"`{original}` {where}, while `{it.name}`, computed from it, reaches no output"
            )
            expected = f"`{it.name}` is used from there on"
            fix = f"Use `{it.name}` instead of `{original}`, or remove its computation."
        else:
            place = it.similar.place if it.similar is not None else own
            lost = listed(value.name for value in it.lost)
            current = f"`{it.name}` reaches no output, so that {lost} has no effect at all"
            expected = f"`{it.name}` takes part in what follows"
            fix = f"Use `{it.name}` here, where arrays of its type meet, or drop the input."
        assert own is not None
        yield RULE.finding(
            place or own,
            current=current,
            expected=expected,
            fix=fix,
            evidence=(computed,),
        )


def _beside(own: Place | None, step: Step) -> Place | None:
    """Where a step is reached from the function that computes the value, if it is from there.

    A helper that is handed the wrong array is right; its caller is not.
    """
    for frame in step.frames:
        if own is not None and (frame.file, frame.function) == (own.file, own.function):
            return frame
    return step.place


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading."""
    elements = [*dropped_values(facts), *unread_parts(facts)]
    known = {it.place for it in elements}
    told: set[Place] = set()
    told_names: set[tuple[str, Place]] = set()
    # Where another one is joined with itself, it was to be there.
    joined = {it.unread: it.place for it in doubled(facts)}
    versions = (*unread_versions(facts), *unread_parameters(facts))
    for it in (*elements, *(it for it in versions if it.place not in known)):
        # Each run of a function may use another one in its place.
        if (it.name, it.place) in told_names:
            continue
        told_names.add((it.name, it.place))
        if it.instead:
            current = f"`{it.instead}` is used here, while `{it.name}`, computed from it, is not"
            fix = f"Use `{it.name}` instead of `{it.instead}`, or remove its computation."
        else:
            current = f"`{it.name}` reaches no output, so that `{it.lost}` has no effect at all"
            fix = f"Use `{it.name}` here, where values are put together, or drop the input."
        told.add(it.place)
        yield RULE.finding(
            joined.get(it.name, it.used_at or it.place),
            current=current,
            expected=f"`{it.name}` takes part in what follows",
            fix=fix,
            evidence=(Evidence(f"`{it.name}` is computed here", it.place),),
            engine=Engine.SOURCE,
        )
    for twin in unread_twins(facts):
        if twin.place in told or twin.place in known or twin.name in joined:
            continue
        yield RULE.finding(
            twin.used_at,
            current=f"`{twin.older}` is used here, while `{twin.name}`, made in the same way after "
            "it, is read by nobody",
            expected=f"`{twin.name}` takes part in what follows",
            fix=f"Use `{twin.name}` instead of `{twin.older}`, or remove its computation.",
            evidence=(Evidence(f"`{twin.name}` is made here", twin.place),),
            engine=Engine.SOURCE,
        )
    for name, place in unread_gradients(facts):
        if place not in told:
            yield RULE.finding(
                place,
                current=f"the gradients `{name}` are computed, and nothing reads them",
                expected=f"`{name}` change what they are the gradients of",
                fix=f"pass `{name}` to the optimiser, or ask for the value alone",
                engine=Engine.SOURCE,
            )
    for lost in overwritten_terms(facts):
        yield RULE.finding(
            lost.overwritten_at,
            current=f"`{lost.name}` of the call before is overwritten here before anything reads "
            f"it, and only the second one is added to `{lost.total}`",
            expected=f"both are added to `{lost.total}`",
            fix=f"add `{lost.name}` to `{lost.total}` after each call",
            evidence=(Evidence(f"`{lost.name}` is computed here", lost.place),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF101",
    name="value-dropped",
    title="Computed, and then forgotten",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A line assigns a value that nothing reads and no output depends on, while the value that it was
made from is used afterwards where the new one would fit; or an input has no effect because of it;
or an older value that was made by the same function is used on in its place.
The program runs, without the step that its author wrote. A name that begins with an underscore
says that the value is not needed.
""",
    wrong="""\
import jax.numpy as jnp

def entry(w, mean, std, obs):
    normed = (obs - mean) / jnp.maximum(std, 1e-3)
    return jnp.tanh(obs @ w)

def inputs():
    return jnp.ones((4, 2)), jnp.zeros(4), jnp.ones(4), jnp.ones((5, 4))
""",
    right="""\
import jax.numpy as jnp

def entry(w, mean, std, obs):
    normed = (obs - mean) / jnp.maximum(std, 1e-3)
    return jnp.tanh(normed @ w)

def inputs():
    return jnp.ones((4, 2)), jnp.zeros(4), jnp.ones(4), jnp.ones((5, 4))
""",
    trace=check,
    source=check_source,
)
