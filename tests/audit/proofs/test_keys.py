"""What is verified of random keys, held against programs that run."""

from __future__ import annotations

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
