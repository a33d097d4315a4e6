"""A reduction over one of several named maps, where nothing ever goes over an outer one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.loops.left_out_axes import left_out_axes
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Collectives that stop at an inner axis, inside of a map whose name is for nothing."""
    told: set[ast.AST] = set()
    for it in left_out_axes(facts):
        if it.collective.syntax in told:
            continue
        told.add(it.collective.syntax)
        axes = ", ".join(map(repr, it.collective.data["axes"]))
        yield RULE.finding(
            it.collective.place,
            current=f"`{it.collective.text}` goes over {axes} alone: each lane of the map "
            f"{it.name!r} around it has a result of its own, and nothing goes over that one",
            expected=f"what has a named axis goes over it: ({axes}, {it.name!r})",
            fix=f"Name both axes, or do not name {it.name!r} if its lanes are to differ.",
            evidence=(Evidence(f"the map {it.name!r}", it.region.place),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="VM008",
    name="axis-left-out",
    title="A collective leaves a named axis out",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A map has a name so that collectives can go over it. With two maps around it, `pmean(x, "inner")` is
one mean for each lane of the outer map, and statistics or gradients that should agree everywhere
agree only within a lane.

Reported where a collective goes over an inner map, and an outer one has a name that the program
mentions nowhere else.""",
    wrong="""\
import jax
import jax.numpy as jnp

def centred(x):
    return x - jax.lax.pmean(x, "image")

def entry(x):
    images = jax.vmap(centred, axis_name="image")
    return jax.vmap(images, axis_name="crop")(x)

def inputs():
    return (jnp.arange(24.0).reshape(2, 4, 3),)
""",
    right="""\
import jax
import jax.numpy as jnp

def centred(x):
    return x - jax.lax.pmean(x, ("crop", "image"))

def entry(x):
    images = jax.vmap(centred, axis_name="image")
    apart = jax.vmap(lambda x: x - jax.lax.pmean(x, "image"), axis_name="image")
    return jax.vmap(images, axis_name="crop")(x), jax.vmap(apart)(x)

def inputs():
    return (jnp.arange(24.0).reshape(2, 4, 3),)
""",
    source=check_source,
)
