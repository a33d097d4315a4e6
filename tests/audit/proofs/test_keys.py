"""What is verified of random keys, held against programs that run."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings

from verax.audit.rules.prng.key_reused import RULE
from verax.audit.run import audit_source

from .random_keys import HEADER, INPUTS, key_programs, used_in_python


def verified(program: str) -> bool:
    """Whether a report says that no key of a program is consumed twice."""
    return bool(audit_source(HEADER + program + INPUTS, rules=(RULE,), strict=True).verified)


def reuses(program: str) -> bool:
    """Whether a key is consumed twice in a run of a program."""
    runs = [used_in_python(program, flag) for flag in (0.0, 1.0)]
    return any(count > 1 for used in runs for count in used.values())


@settings(max_examples=settings().max_examples // 2)
@given(key_programs())
def test_no_key_is_consumed_twice_where_that_is_verified(program: str) -> None:
    if verified(program):
        event("verified")
        assert not reuses(program), program
    else:
        event("reuses" if reuses(program) else "right, and not verified")


NESTED = """
def entry(key0, keys0, flag):
    def outer(carry, row):
        k, total = carry
        {before}
        def inner(i, carry):
            k, total = carry
            k, own = split(k)
            return k, total + normal(own)
        k, total = fori_loop(0, 3, inner, (k, total))
        {after}
        return (k, total), None
    return scan(outer, (key0, 0.0), jnp.arange(3))
"""
DRAW = "total = total + normal(k)"
APART = "k, own = split(k); total = total + normal(own)"


@pytest.mark.parametrize(
    ("before", "after", "is_wrong"),
    [
        (DRAW, "", True),  # drawn from, and then split by the inner loop
        ("", DRAW, True),  # the episode is evaluated with the key that goes on
        (APART, APART, False),
    ],
)
def test_a_loop_inside_a_scan_that_carries_the_key(before: str, after: str, is_wrong: bool) -> None:
    program = NESTED.format(before=before or "pass", after=after or "pass")
    assert reuses(program) == is_wrong
    assert verified(program) != is_wrong


LOOKED_UP = """
def entry(key0, keys0, flag):
    def step(total, row):
        return total + normal(keys0[{index}]), None
    return scan(step, 0.0, jnp.arange(3))
"""


@pytest.mark.parametrize(("index", "is_wrong"), [("row // 2", True), ("row", False)])
def test_keys_that_a_counter_looks_up(index: str, is_wrong: bool) -> None:
    program = LOOKED_UP.format(index=index)
    assert reuses(program) == is_wrong
    assert not (is_wrong and verified(program))
