"""One vmap over axes with different names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.arrays import array_in_words
from ...source.queries.given_whole import axes_to_mend
from ...source.queries.gradients.summed_over_lanes import summed_over_lanes
from ...source.queries.loops.maps import applied_maps, mapped_axes
from ...words import is_batch
from .._rule import Rule, Verdict
from ..axis._clashes import clashes_at

if TYPE_CHECKING:
    from ...finding import Place
    from ...source.facts import SourceFacts
    from ...source.values import Data
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Names that a vmap pairs, and maps that pair only like with like."""
    yield from clashes_at(facts, RULE, {"mapped"}, expected=_EXPECTED, fix=_FIX)


_EXPECTED = "one vmap goes along the same axis of everything that it maps"
_FIX = (
    "give the argument that has no {one} `None` in `in_axes`, or the position of {one}; with "
    "nested vmaps, map {other} at its own level"
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls of mapped functions whose arguments are mapped along different axes."""
    said: set[Place] = set()
    for finding in _by_name(facts):
        said.add(finding.place)
        yield finding
    for event, leaf, total in summed_over_lanes(facts):
        place = axes_to_mend(event, leaf)
        if place in said:
            continue
        said.add(place)
        name = facts.name_of(leaf)
        yield RULE.finding(
            place,
            current=f"each element has a part of {name} of its own here, along with its data, and "
            "its gradient for that part is added to those of the others",
            expected=f"{name} is shared by all elements whose gradients for it are added up",
            fix="give the argument `None` in `in_axes`",
            evidence=(
                Evidence("the gradients are added up here", total.place),
                Evidence("the call", event.place),
            ),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


def _by_name(facts: SourceFacts) -> Iterator[Finding]:
    for event in applied_maps(facts):
        first: dict[str, str] = {}
        by_name: dict[str, Data] = {}
        for leaf, axis, name in mapped_axes(event):
            if name and name not in first:
                first[name] = f"axis {axis} of {array_in_words(facts, leaf)}"
                by_name[name] = leaf
        if len(first) < 2:
            continue
        one, other = list(first)[:2]
        if is_batch(other) and not is_batch(one):
            one, other = other, one
        yield RULE.finding(
            axes_to_mend(event, by_name[other]),
            current=f"axes {one} and {other} are mapped together by one {event.transformed.kind}: "
            f"{first[one]}, {first[other]}",
            expected=_EXPECTED,
            fix=_FIX.format(one=one, other=other),
            evidence=(Evidence("the call", event.place),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="VM001",
    name="mapped-axes-mixed",
    title="A vmap maps axes with different meanings together",
    family="vmap",
    severity=Severity.CRITICAL,
    exact="the names are declared, and the trace follows each to the operation that pairs them",
    explanation="""\
`jax.vmap` pairs the i-th element of everything that it maps. Without `in_axes` it maps the leading
axis of every argument, also of parameters that are meant to be shared; where the sizes agree,
example i is computed with row i of the parameters. Nested vmaps can pair environments with players
in the same way.

Also reported where gradients for a record that is mapped with its data are added up afterwards: of
models side by side nobody adds up gradients.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"gain": "feat", "readings": "batch feat"}


def entry(gain, readings):
    return jax.vmap(lambda g, r: jnp.tanh(g * r))(gain, readings)


def inputs():
    return jnp.ones(4), jnp.ones((4, 4))
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"gain": "feat", "readings": "batch feat"}


def entry(gain, readings):
    return jax.vmap(lambda g, r: jnp.tanh(g * r), in_axes=(None, 0))(gain, readings)


def inputs():
    return jnp.ones(4), jnp.ones((4, 4))
""",
    trace=check,
    source=check_source,
)
