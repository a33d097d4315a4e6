"""What was not followed is unknown: whatever the budget, nothing is said that a larger one denies.

A program is audited with limits from tiny to ample. What is reported, verified or said to reach no
output with the small ones has to be said with the ample ones as well.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from verax.audit.rules.registry import all_rules
from verax.audit.source.analyse import audit_text
from verax.audit.source.limits import DEFAULT, Limits

ROOT = Path(__file__).parents[3]
FILES = [
    *sorted(ROOT.glob("examples/**/*.py")),
    *sorted((ROOT / "tests/audit/programs/classics").glob("*.py")),
    *sorted((ROOT / "tests/audit/lookalikes").glob("*.py")),
]
PROGRAMS = {str(file.relative_to(ROOT)): file.read_text() for file in FILES}
AMPLE = DEFAULT.scaled(20)
# Ten to the power of these: from one call of each kind to more than most programs need.
factors = st.floats(-3, 1).map(lambda power: 10**power)


def said(text: str, limits: Limits) -> set[tuple[str, ...]]:
    """All claims of a report: findings, verified entries, and what reaches no output."""
    report = audit_text(text, limits=limits, strict=True)
    return {
        *(("found", it.code, str(it.place)) for it in report.findings),
        *(("verified", it.code, it.claim, str(it.place)) for it in report.verified),
        *(("flow", flow.entry, note) for flow in report.data_flow for note in flow.notes),
    }


@cache
def said_of_file(name: str) -> set[tuple[str, ...]]:
    return said(PROGRAMS[name], AMPLE)


@settings(max_examples=settings().max_examples // 2, deadline=None)
@given(st.sampled_from(sorted(PROGRAMS)), factors)
def test_a_small_budget_says_nothing_that_an_ample_one_denies(name: str, factor: float):
    assert said(PROGRAMS[name], DEFAULT.scaled(factor)) <= said_of_file(name)


@settings(deadline=None)
@given(st.sampled_from(all_rules()), factors)
def test_nor_is_anything_said_of_part_of_a_wrong_program(rule, factor: float):
    assert said(rule.wrong, DEFAULT.scaled(factor)) <= said(rule.wrong, AMPLE)


def late(before: int, body: str, last: str = "jnp.sum(w)") -> str:
    """A program that does many plain things before it calls its compiled step."""
    plain = "".join(f"    rows = work(rows, {number})\n" for number in range(before))
    return (
        "import jax\nimport jax.numpy as jnp\n\n"
        "def work(rows, n):\n    rows = [*rows, n]\n    rows = rows[1:]\n    return rows\n\n"
        f"@jax.jit\ndef step(w, key, scale):\n{body}\n"
        f"def main():\n    key = jax.random.key(0)\n    rows = [1, 2]\n    w = jnp.ones(3)\n{plain}"
        f"    w = step(w, key, jnp.float32(2.0))\n    return {last}\n\n"
        "main()\n"
    )


SPLIT = """\
    def body(w, key):
        return w * scale + jax.random.normal(key, w.shape), None

    return jax.lax.scan(body, w, jax.random.split(key, 5))[0]
"""
REPEATED = """\
    def body(w, _):
        return w * scale + jax.random.normal(key, w.shape), None

    return jax.lax.scan(body, w, None, length=5)[0]
"""
UNREAD = """\
    noise = jax.random.normal(key, w.shape)
    noisy = w + noise
    return w * scale
"""


# Each example is two audits.
few = settings(max_examples=settings().max_examples // 4, deadline=None)


@pytest.mark.parametrize("body", [SPLIT, REPEATED, UNREAD], ids=["split", "repeated", "unread"])
@few
@given(before=st.integers(0, 80), factor=factors)
@example(before=60, factor=1.0)
def test_what_comes_late_is_unknown_or_right(body: str, before: int, factor: float):
    text = late(before, body)
    assert said(text, DEFAULT.scaled(factor)) <= said(text, AMPLE)


@few
@given(before=st.integers(0, 80))
@example(before=60)
def test_a_report_does_not_contradict_itself(before: int):
    """What is drawn from in every iteration reaches the output."""
    claims = said(late(before, REPEATED), DEFAULT)
    assert {it[1] for it in claims if it[0] == "found"} <= {"RK002"}
    assert not [it for it in claims if it[0] == "flow" and "`key`" in it[2]]
