"""A random key that is the same for every lane of a `vmap`, or for every device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...phrases import quoted_name
from ...source.classes import innermost_function
from ...source.events import Applied
from ...source.queries.handing import handed_in_at, is_in_value, is_key
from ...source.queries.keys.common_numbers import compare_by_same_numbers
from ...source.queries.keys.lifted_streams import unsplit_streams
from ...source.queries.keys.reuse import (
    MAPS,
    are_copies,
    begun_by,
    copied_at,
    copies_behind,
    is_argument,
    line_to_outside,
    repeated,
)
from ...source.queries.loops.products import meet_every_key
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import KeyUse
    from ...source.facts import SourceFacts
    from ...source.frame import Region
    from ...trace.facts import Facts
    from ...trace.key_uses import Repetition


def check(facts: Facts) -> Iterator[Finding]:
    """Report draws that repeat over the lanes of a map, or over devices."""
    from ...trace.key_uses import repetitions

    for it in repetitions(facts):
        if it.over.kind in ("map", "shard"):
            yield _finding(facts, it)


def _finding(facts: Facts, it: Repetition) -> Finding:
    from ...trace.key_uses import call_chain, name_of, quoted

    name, key = name_of(facts, it.root), quoted(facts, it.root)
    chain = call_chain(it.consumed.step, it.over)
    place = facts.place(it.over)
    how = "is closed over"
    if it.over.kind == "map":
        count, lanes = it.over.detail.size, "lanes of the vmap"
        if any(facts.keys.of(value) is it.root for value in it.over.detail.broadcast):
            how = "is passed with in_axes=None"
        elif any(facts.keys.of(inner) is it.root for _, inner, _ in it.over.detail.mapped):
            how = "is mapped over as copies of one key"
        elif chain:
            place = chain[-1]
        mapped_with = f"vmap with in_axes=0 over {count} keys split from {key}"
    elif it.over.detail.made_by_pmap:
        count, lanes = it.over.detail.devices, "devices of the pmap"
        how = "is the same on each of them"
        mapped_with = f"pmap with in_axes=0 over {count} keys split from {key}"
    else:
        mesh = it.over.detail.mesh
        lanes, count = "devices", " by ".join(f"{size} {axis}" for axis, size in mesh.items())
        how = "is the same on all of them"
        axis = next(iter(mesh))
        mapped_with = f"fold `jax.lax.axis_index({axis!r})` into {key}"
    return RULE.finding(
        place,
        current=f"`{name}` {how}, so that all {count} {lanes} draw the same numbers",
        expected="each element of the mapped axis draws from a key of its own",
        fix=f"{mapped_with}; numbers that all are meant to share are better drawn outside",
        evidence=(Evidence("the shared draw", facts.place(it.draw.step)),),
        confidence=Confidence.LIKELY,
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report keys from outside of a map that its lanes draw from."""
    told: set[Place | None] = set()
    for use, region in repeated(facts, MAPS):
        told.add(region.place)
        if meet_every_key(facts, use, region) or compare_by_same_numbers(facts, region):
            continue
        yield _shared(facts, use, region)
    yield from _resets_from_copies(facts, told)
    for it in unsplit_streams(facts, "flax.linen.vmap"):
        yield RULE.finding(
            it.place,
            current=f"the stream `{it.stream}` is not split: each lane has "
            f"{'weights' if it.have_own_weights else 'inputs'} of its own and gets the same keys, "
            f"so that {it.outcome}",
            expected="each lane draws from keys of its own",
            fix=f'`split_rngs={{"{it.stream}": True}}`',
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


def _resets_from_copies(facts: SourceFacts, told: set[Place | None]) -> Iterator[Finding]:
    """Environments that start from copies of one key, by a function of which nothing is known.

    Where one of the calls tells which function that is, its draws are `told` already.
    """
    from ...words import words_of

    for applied in facts.events(Applied):
        function = applied.transformed.function
        label = function.node.label if isinstance(function, Data) else ""
        if applied.transformed.kind != "vmap" or innermost_function(function) is not None:
            continue
        if "reset" not in words_of(label) or applied.region.place in told:
            continue
        for value in applied.args:
            made = [value.node] if isinstance(value, Data) else []
            made += made[0].inputs if made and made[0].operation == "join" else ()
            copies = next((it for it in made if are_copies(it)), None)
            if copies is not None and copies.place is not None and copies.inputs:
                name = facts.name_of(Data(copies.inputs[0]))
                yield RULE.finding(
                    copies.place,
                    current=f"`{name}` is one key several times, so that all environments start "
                    "with the same numbers",
                    expected="each environment starts from a key of its own",
                    fix=f"split {quoted_name(name, 'the key')} into as many keys as there are "
                    "environments",
                    confidence=Confidence.LIKELY,
                    engine=Engine.SOURCE,
                )


def _shared(facts: SourceFacts, use: KeyUse, region: Region) -> Finding:
    name = facts.name_of(use.key)
    copies = copies_behind(use.key.node, region) if region in use.key.node.varies else None
    if copies is not None:
        # The map is called with copies there, wherever it is made; a loop inside of it is not.
        is_lane = use.key.node.inputs[0] is copies
        how = "is one key several times"
        place = use.key.node.place if is_lane else copied_at(copies)
    elif is_argument(facts, use.key.node, region):
        how, place = "is passed with in_axes=None", region.place
    else:
        line = line_to_outside(use.key.node, region)
        how, place = "is closed over", handed_in_at(begun_by(use, line), is_key(*line), region)
        if is_in_value(use, is_key(*line)):
            # What has a key for good stands for one random thing: the map has it for all.
            how, place = "is in an object that is made outside", region.place
    lanes = "devices" if region.kind == "pmap" else f"lanes of the {region.kind}"
    return RULE.finding(
        place or use.place,
        current=f"`{name}` {how}, so that all {lanes} draw the same numbers",
        expected="each element of the mapped axis draws from a key of its own",
        fix=f"split {quoted_name(name, 'the key')} into one key for each, and map over them; "
        f"numbers that all are meant to share are better drawn outside of the {region.kind}",
        evidence=(Evidence("the shared draw", use.place),),
        confidence=Confidence.LIKELY,
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="RK003",
    name="key-shared-by-lanes",
    title="Every lane draws from the same random key",
    family="prng",
    severity=Severity.CRITICAL,
    explanation="""\
Inside of `vmap`, a key that is broadcast (`in_axes=None`) or closed over is the same for every
element: all of them get the same sample, the same dropout mask, the same exploration noise. So is
what an object outside of the map holds, and a stream that flax's `nn.vmap` does not split.

A draw that meets what is mapped only in a matrix product is taken for weights that all elements
share, and is not reported. Nor is a product: two maps around each other, one over the keys and one
over all else, let every element meet every key.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def noisy(key, x):
    return x + jax.random.normal(key, x.shape)

def entry(key, xs):
    return jax.vmap(noisy, in_axes=(None, 0))(key, xs)

def inputs():
    return jax.random.key(0), jnp.zeros((4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def noisy(key, x):
    return x + jax.random.normal(key, x.shape)

def entry(key, xs):
    return jax.vmap(noisy)(jax.random.split(key, 4), xs)

def inputs():
    return jax.random.key(0), jnp.zeros((4, 3))
""",
    confidence=Confidence.LIKELY,
    trace=check,
    source=check_source,
)
