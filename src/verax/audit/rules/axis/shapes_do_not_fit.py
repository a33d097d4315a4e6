"""An operation on arrays whose shapes do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Fact
from ...source.queries.arrays import are_declared, arrays_in_words, made_here, plain
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "shapes"."""
    failure = facts.failure
    if failure is None or failure.kind != "shapes":
        return
    text = failure.statement.text if failure.statement else "an operation"
    operands = failure.operands_in_words()
    detail = failure.first_line.partition(": ")[2]
    what, fix = _explained(failure.text)
    yield RULE.finding(
        failure.place,
        current=f"`{text}`: {what or detail}" + (f"; {operands}" if operands else ""),
        expected="the shapes fit together axis by axis",
        fix=fix,
        evidence=failure.calls(),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Operations of which the shapes that are known say that they fail."""
    for fact in facts.events(Fact):
        if fact.kind != "mismatch" or are_declared(fact.data["operands"]):
            continue  # What an annotation says may be what is wrong.
        reason, operands = plain(fact.data["reason"]), fact.data["operands"]
        arrays = arrays_in_words(facts, operands)
        yield RULE.finding(
            fact.place,
            current=f"`{fact.text}`: {reason}" + (f"; {arrays}" if arrays else ""),
            expected="the shapes fit together axis by axis",
            fix=_explained(reason.replace("broadcast", "broadcasting"))[1],
            evidence=made_here(facts, operands),
            engine=Engine.SOURCE,
        )


def _explained(text: str) -> tuple[str, str]:
    """What went wrong in a few words (empty: as JAX says), and what usually helps."""
    shapes = text[text.find("(") :].rstrip(".]") if "(" in text else ""
    if "contracting" in text:
        return (
            f"contracts axes of sizes {shapes}".replace("(", "").replace(",)", ""),
            "Transpose one side with `jnp.swapaxes`, or contract other axes with `jnp.einsum`.",
        )
    if "broadcasting" in text:
        types = text[text.find("=") + 1 :] if "=" in text and "(" not in text else shapes
        return (
            f"cannot broadcast {types} together",
            "Give the smaller array its missing axis where it belongs: `jnp.expand_dims`, or "
            "`keepdims=True` where it was reduced.",
        )
    if "concatenat" in text or "same shape" in text:
        return f"joins arrays of the shapes {shapes}" if shapes else "", (
            "Only the axis that is joined may differ; check the `axis` argument."
        )
    if "reshape" in text:
        return "", "The number of elements must stay; use -1 for the size that follows."
    if "out of bounds" in text or "Too many indices" in text:
        return "", "The array has fewer axes than meant: look where one was reduced or mapped away."
    if "0-d" in text:
        return "takes a scalar apart", "The array has no axis left: look where it was reduced."
    return "", "Compare the shapes above with those that are meant."


RULE = Rule(
    code="AX201",
    name="shapes-do-not-fit",
    title="Shapes do not fit",
    family="axis",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    preview=True,
    explanation="""\
A product contracts axes of different sizes, a broadcast meets sizes that are neither equal nor
one, or an axis is named that is not there. The finding says what each array in the line was.
""",
    wrong="""\
import jax.numpy as jnp

AXES = {"x": "batch feat", "w": "hid feat"}

def entry(x, w):
    return x @ w

def inputs():
    return jnp.ones((5, 4)), jnp.ones((8, 4))
""",
    right="""\
import jax.numpy as jnp

AXES = {"x": "batch feat", "w": "hid feat"}

def entry(x, w):
    return x @ w.T

def inputs():
    return jnp.ones((5, 4)), jnp.ones((8, 4))
""",
    trace=check,
    source=check_source,
)
