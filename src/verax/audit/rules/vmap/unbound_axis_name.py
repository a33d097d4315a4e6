"""A collective over an axis name that nothing around it binds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Evidence, Finding, Severity
from ...source.edits import edited
from ...source.events import Fact, Made
from ...source.library.collectives import names_of_mesh
from ...source.library.shards import names_in, specs_in
from ...source.queries.blame import wrongly_called_at
from ...source.queries.loops.maps import bound_names, misnamed_maps, named_at, unnamed_at
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Region
    from ...source.values import Value
    from ...trace.facts import Facts

_BINDS = re.compile(r"axis_name\s*=\s*['\"](\w+)['\"]")


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "axis name"."""
    failure = facts.failure
    if failure is None or failure.kind != "axis name":
        return
    name = failure.details["name"]
    text = failure.statement.text if failure.statement else "a collective"
    bound = [it for it in _bound_names(facts) if it != name]
    known = f"; what surrounds it binds {', '.join(map(repr, bound))}" if bound else ""
    yield RULE.finding(
        failure.place,
        current=f"`{text}` goes over the axis {name!r}, which nothing around it binds{known}",
        expected=_EXPECTED,
        fix=_fix(name, bound),
        evidence=failure.calls(),
    )


_EXPECTED = "a collective names an axis of an enclosing vmap, pmap or shard_map"


def _fix(name: str, bound: list[str]) -> str:
    best = get_close_matches(name, bound, n=1, cutoff=0.0)
    if best:
        return f"Use the name that is bound: {best[0]!r}."
    return f"Run it inside of `jax.vmap` with `axis_name={name!r}`, or of `jax.shard_map`."


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Collectives over names that no map around them binds, where all maps are known."""
    yield from _unknown_to_mesh(facts)
    collectives = [
        fact
        for fact in facts.events(Fact)
        if fact.kind == "collective" and fact.data["axes"] is not None
    ]
    told: set[ast.AST] = set()
    misnamed = list(misnamed_maps(collectives))
    for region, name, facts_inside in misnamed:
        told.update(fact.syntax for fact in facts_inside)
        yield _misnamed(region, name, facts_inside)
    for fact in collectives:
        if fact.syntax in told:
            continue
        for finding in _unbound(facts, fact):
            told.add(fact.syntax)
            yield finding


def _unknown_to_mesh(facts: SourceFacts) -> Iterator[Finding]:
    """Specs that divide along an axis which the mesh beside them does not have."""
    beside: list[tuple[Value | None, Value | None]] = []
    for made in facts.events(Made):
        if made.transformed.kind == "shard_map":
            options = made.transformed.options
            beside += [(options.get("mesh"), options.get(it)) for it in ("in_specs", "out_specs")]
    for call in facts.calls(("jax.sharding.NamedSharding",)):
        if len(call.args) > 1:
            beside.append((call.args[0], call.args[1]))
    for mesh, specs in beside:
        bound = names_of_mesh(mesh)
        for spec in specs_in(specs) if bound is not None else ():
            unknown = sorted((names_in(spec) or set()).difference(bound or ()))
            if unknown and spec.node.place is not None:
                yield RULE.finding(
                    spec.node.place,
                    current=f"a spec divides along {unknown[0]!r}, and the mesh has "
                    f"{', '.join(map(repr, bound or ()))}",
                    expected="a spec names axes of its mesh",
                    fix=_fix(unknown[0], bound or []),
                    engine=Engine.SOURCE,
                )


def _misnamed(region: Region, name: str, inside: list[Fact]) -> Finding:
    """A map whose axis has another name than all collectives inside of it go by."""
    made = region.details["transformed"]
    has = f"the axis {region.axis_name!r}" if region.axis_name is not None else "no name"
    return RULE.finding(
        made.frame.place(made.syntax),
        current=f"the {region.kind} binds {has}, and all collectives inside of it go over {name!r}",
        expected=_EXPECTED,
        fix=f"Name the axis: `axis_name={name!r}`.",
        evidence=tuple(Evidence(f"`{it.text}`", it.place) for it in inside[:3]),
        engine=Engine.SOURCE,
    )


def _unbound(facts: SourceFacts, fact: Fact) -> Iterator[Finding]:
    bound = bound_names(fact.frame)
    for name in fact.data["axes"] if bound is not None else ():
        if bound is None or name in bound:
            continue
        known = f"; what surrounds it binds {', '.join(map(repr, bound))}" if bound else ""
        called = wrongly_called_at(
            facts, fact, lambda it, name=name: name in (bound_names(it) or ())
        )
        yield RULE.finding(
            called if called != fact.place else unnamed_at(facts, fact) or named_at(fact),
            current=f"`{fact.text}` goes over the axis {name!r}, which nothing around it binds"
            + known,
            expected=_EXPECTED,
            fix=_fix(name, bound),
            evidence=(
                Evidence("the collective", fact.place),
                *facts.why_traced(fact.frame, fact.data["result"]),
            ),
            engine=Engine.SOURCE,
            edit=_renamed(fact, name, bound),
        )


def _renamed(fact: Fact, name: str, bound: list[str]) -> Edit | None:
    """The edit to the only name that there is, where the collective itself names the axis."""
    written = [
        it
        for it in ast.walk(fact.syntax)
        if isinstance(it, ast.Constant) and isinstance(it.value, str) and it.value == name
    ]
    is_clear = len(bound) == len(written) == 1
    return edited(fact.frame, {written[0]: f'"{bound[0]}"'}) if is_clear else None


def _bound_names(facts: Facts) -> list[str]:
    """Names that transformations in the files of the failing calls give to axes."""
    import linecache

    failure = facts.failure
    assert failure is not None
    found: dict[str, None] = {}
    for file in dict.fromkeys(frame.place.file for frame in failure.frames):
        for line in linecache.getlines(file):
            if "map(" in line or "map," in line or ("axis_name" in line and "(" not in line):
                found.update(dict.fromkeys(_BINDS.findall(line.partition("#")[0])))
    return list(found)


RULE = Rule(
    code="VM201",
    name="unbound-axis-name",
    title="Collective over an unknown axis name",
    family="vmap",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
`psum`, `pmean`, `all_gather` and `axis_index` name an axis that an enclosing `vmap`, `pmap` or
`shard_map` has to bind under exactly that name. So does a layer that takes its statistics over an
axis (`nn.BatchNorm(axis_name="batch")`). A `PartitionSpec` names an axis of its mesh.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(x):
    return jax.vmap(lambda v: v - jax.lax.pmean(v, "device"), axis_name="batch")(x)

def inputs():
    return (jnp.ones((4, 3)),)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(x):
    return jax.vmap(lambda v: v - jax.lax.pmean(v, "batch"), axis_name="batch")(x)

def inputs():
    return (jnp.ones((4, 3)),)
""",
    trace=check,
    source=check_source,
)
