"""A reshape that swaps sizes moves elements between axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.queries.arrays import array_in_words, calls_of, plain, shape_in_words
from ...source.queries.numbers.merged_sizes import taken_apart
from ...source.queries.numbers.shuffled_axes import shuffled_axes
from ...source.queries.numbers.swapped_sizes import swapped_axes
from ...source.queries.numbers.undone_splits import undone_splits
from ...source.shapes.dims import show
from ...source.shapes.factors import crossed_axes
from ...source.shapes.reshaping import moved_axis, reinterpretation
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Reshapes whose new sizes are the old ones in another order."""
    from ...trace.describe import tensor_of

    for reshuffle in facts.axes.reshuffles:
        if not facts.is_users(reshuffle.step):
            continue
        pairs = zip(reshuffle.before, reshuffle.before_sizes, strict=True)
        before = ", ".join(axis.label or str(size) for axis, size in pairs)
        source = tensor_of(facts, reshuffle.step.inputs[0])
        yield RULE.finding(
            facts.place(reshuffle.step),
            current=f"{source} is reshaped so that sizes {reshuffle.before_sizes} become "
            f"{reshuffle.after_sizes}: elements stay in memory order, so each new row holds "
            f"pieces of several rows of ({before})",
            expected=f"axes ({before}) change places with their elements",
            fix=_FIX,
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Reshapes whose new sizes are the old ones in another order, or only seem to be others."""
    yield from _in_another_order(facts)
    yield from _behind_a_shuffle(facts)
    for undone in undone_splits(facts):
        parts = ", ".join(undone.parts)
        yield RULE.finding(
            undone.call.place,
            current=f"({parts}) are merged to `{undone.whole}` as they were before the last "
            "reshape, so that nothing has moved",
            expected="axes change places between the two reshapes",
            fix=_FIX,
            evidence=(Evidence("taken apart here", undone.first.place),),
            engine=Engine.SOURCE,
        )


def _behind_a_shuffle(facts: SourceFacts) -> Iterator[Finding]:
    for shuffled in shuffled_axes(facts):
        size = plain(show(shuffled.size))
        yield RULE.finding(
            shuffled.call.place,
            current=f"an axis of size {size} is taken out of a product whose elements are in a "
            "random order: each row holds elements of many rows, in any order",
            expected=f"rows of {size} stay together, and only their order is random",
            fix="shuffle before the axes are merged, along the one that may be shuffled",
            evidence=(Evidence("shuffled here", shuffled.shuffled.place),),
            engine=Engine.SOURCE,
        )


def _in_another_order(facts: SourceFacts) -> Iterator[Finding]:
    for call in calls_of(facts, "reshape"):
        array = call.args[0] if call.args else None
        if not isinstance(array, Data) or not isinstance(call.result, Data):
            continue
        old, new = taken_apart(array.node), call.result.node.shape
        if not isinstance(old, tuple):
            yield from _by_own_sizes(facts, call, array)
            continue
        group = reinterpretation(old, new)
        moved = moved_axis(old, new) or crossed_axes(old, new)
        if (group is None and moved is None) or "order" in call.keywords:
            continue
        mixed = group.old_axes if group is not None else range(len(old))
        before = ", ".join(plain(show(old[axis])) for axis in mixed)
        yield RULE.finding(
            call.place,
            current=f"{array_in_words(facts, array)} is reshaped to {shape_in_words(new)}: "
            "elements stay in memory order, so each new row holds pieces of several rows of "
            f"({before})",
            expected=f"axes ({before}) change places with their elements",
            fix=_FIX,
            engine=Engine.SOURCE,
        )


def _by_own_sizes(facts: SourceFacts, call: Call, array: Data) -> Iterator[Finding]:
    """The same of an array of any sizes, that are asked for one by one."""
    axes = swapped_axes(call)
    if axes and "order" not in call.keywords:
        yield RULE.finding(
            call.place,
            current=f"{array_in_words(facts, array)} is reshaped to sizes of its own axes, in the "
            f"order {', '.join(map(str, axes))}: elements stay in memory order, so each new row "
            "holds pieces of several rows",
            expected="axes change places with their elements",
            fix=_FIX,
            engine=Engine.SOURCE,
        )


_FIX = (
    "split and merge neighbouring axes with `jnp.reshape`; move them with `jnp.swapaxes`, "
    "`jnp.moveaxis` or `jnp.transpose`"
)

RULE = Rule(
    code="AX003",
    name="reshape-as-transpose",
    title="A reshape is used where a transpose is meant",
    family="axis",
    severity=Severity.CRITICAL,
    explanation="""\
Finds a reshape whose new sizes are the old ones (or parts of them) in another order, such as
`x.reshape(time, batch, feat)` of a `(batch, time, feat)` array, or `x.reshape(batch, heads, time,
-1)` of one that is `(batch, time, heads * dim)`. Reshaping keeps the order of the elements in
memory and only reads it in rows of another length; afterwards a "time step" holds steps of several
sequences.

Parts of axes are followed as well: patches of an image need `x.reshape(rows, k, cols, k, chan)` and
a transposition, also where they are merged at once, `(rows * cols, k * k * chan)`, and what was
merged as `(env, time)` is taken apart as `(env, time)`. Patches that are put together again,
`(rows, cols, k, k)`, need one as well before they are `(height, width)`, also where the sizes
happen to agree. Nor does a reshape give sequences back whose steps were merged and shuffled.

A reshape that merges neighbouring axes or splits one is followed and not reported, also when a
merged axis is split again into the same parts.""",
    wrong="""\
import jax.numpy as jnp


def entry(x):
    batch, time, feat = x.shape
    return jnp.cumsum(x.reshape(time, batch, feat), axis=0)


def inputs():
    return (jnp.ones((3, 5, 4)),)
""",
    right="""\
import jax.numpy as jnp


def entry(x):
    batch, time, feat = x.shape
    flat = jnp.tanh(x.reshape(batch * time, feat))
    return jnp.cumsum(jnp.swapaxes(flat.reshape(batch, time, feat), 0, 1), axis=0)


def inputs():
    return (jnp.ones((3, 5, 4)),)
""",
    trace=check,
    source=check_source,
)
