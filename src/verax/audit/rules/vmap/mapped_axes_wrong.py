"""`in_axes` or `out_axes` that do not fit the arguments or the result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.queries.loops.in_axes import axes_written_at, misfits
from ...source.values import Sequence
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts

_SIZE = re.compile(
    r"(?:one axis|(?P<many>\d+|most) axes(?: \(\d+ of them\))?) had size (?P<size>\d+)"
    r"(?:: (?:e\.g\. )?axis (?P<axis>\d+) of (?:argument )?(?P<name>\S+) "
    r"of type (?P<type>[^;\s]+))?"
)


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "mapped sizes", "in_axes" and "out_axes"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("mapped sizes", "in_axes", "out_axes"):
        return
    function = failure.details.get("function", "vmap")
    if failure.kind == "out_axes":
        current = "a result that differs from lane to lane is returned with out_axes=None"
        if "prefix" in failure.text:
            current = "`out_axes` has another structure than what the function returns"
        expected, fix = _OF_RESULTS
    else:
        current = _sizes(failure.text, function) or failure.first_line.partition(": ")[2]
        expected, fix = _OF_ARGUMENTS
    operands = failure.operands_in_words()
    yield RULE.finding(
        failure.place,
        current=current + (f"; {operands}" if operands else ""),
        expected=expected,
        fix=fix,
        evidence=failure.calls(),
    )


_OF_RESULTS = (
    "`out_axes` says for every result where its mapped axis goes",
    "Give results that depend on a mapped argument an integer in `out_axes`.",
)
_OF_SPECS = (
    "`in_specs` has one entry for each argument",
    "Give every argument a `PartitionSpec`, an empty one if all devices share it.",
)
_OF_DEVICES = (
    "what comes out with `P()` was made the same on all devices by a collective",
    "Unite it inside (`jax.lax.pmean`, `jax.lax.psum`), or name the axis in `out_specs`.",
)
_OF_ARGUMENTS = (
    "the mapped axes of all arguments have the same size",
    "Set `in_axes` so that every argument is mapped over the same axis, and `None` for those that "
    "all lanes share (parameters, scalars).",
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Maps that cannot work, by what is known of the function and its arguments."""
    for event, reason in misfits(facts):
        expected, fix = _OF_RESULTS if "out_axes" in reason else _OF_ARGUMENTS
        if "entries" in reason and "in_axes" in reason:
            expected = "`in_axes` has one entry for each positional argument"
        elif "in_specs" in reason:
            expected, fix = _OF_SPECS
        elif "out_specs" in reason:
            expected, fix = _OF_DEVICES
        transformed = event.transformed
        is_written = reason.startswith("`in_axes`") and "in_axes" in transformed.options
        is_written = is_written or reason.startswith("`out_specs`")
        # An entry for each argument is a claim about all of them.
        is_claimed = isinstance(transformed.options.get("in_axes"), Sequence)
        is_written = is_written or (" maps ax" in reason and is_claimed)
        made = transformed.frame.place(transformed.syntax)
        written = axes_written_at(event, reason) if is_written else None
        yield RULE.finding(
            written or (made if is_written else event.place),
            current=reason,
            expected=expected,
            fix=fix,
            evidence=(Evidence("the call", event.place),),
            engine=Engine.SOURCE,
        )


def _sizes(text: str, function: str) -> str:
    parts = [
        f"axis {it['axis']} of `{it['name']}` ({it['type']}) has size {it['size']}"
        for it in _SIZE.finditer(text)
        if it["axis"]
    ]
    if parts:
        return f"{function} maps axes of different sizes: {', '.join(parts)}"
    rank = re.search(r"along axis (-?\d+).*its shape is (\([\d, ]*\))", text)
    if rank:
        return f"{function} maps axis {rank[1]} of an argument with the shape {rank[2]}"
    count = re.search(r"len\(in_axes\)=(\d+), len\(args\)=(\d+)", text)
    if count:
        return f"`in_axes` has {count[1]} entries for {count[2]} arguments"
    return "`in_axes` maps no argument at all" if "at least one non-None" in text else ""


RULE = Rule(
    code="VM202",
    name="mapped-axes-wrong",
    title="in_axes or out_axes do not fit",
    family="vmap",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    preview=True,
    explanation="""\
`vmap` maps one axis of every argument that has an integer in `in_axes`, and all of them must be
equally long. A result that depends on a mapped argument needs a place for the axis in `out_axes`.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(w, x):
    return jax.vmap(lambda w, x: w @ x)(w, x)

def inputs():
    return jnp.ones((2, 3)), jnp.ones((5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(w, x):
    return jax.vmap(lambda w, x: w @ x, in_axes=(None, 0))(w, x)

def inputs():
    return jnp.ones((2, 3)), jnp.ones((5, 3))
""",
    trace=check,
    source=check_source,
)
