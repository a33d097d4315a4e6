"""What is verified of operations and indices, held against programs that run."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import event, given, settings

from verax.audit.finding import Verified
from verax.audit.rules.dataflow import index_outside, undefined_operation
from verax.audit.run import audit_source

from .watched_numbers import HEADER, RANGES, Run, example, number_programs

INPUTS = """

def inputs():
    return {arguments}

RANGES = {ranges}
"""
ARGUMENTS = "jnp.ones(3), jnp.ones(3), jnp.int32(1), jnp.int32(1), jnp.ones(6), jnp.ones((3, 5))"
RULES = (undefined_operation.RULE, index_outside.RULE)


def verified(program: str) -> list[Verified]:
    """What a report claims of a program."""
    inputs = INPUTS.format(arguments=ARGUMENTS, ranges=RANGES)
    return list(audit_source(HEADER + program + inputs, rules=RULES, strict=True).verified)


def runs(program: str) -> Run:
    """The program with the ends of the ranges, and with numbers between."""
    run, rng = Run(program), random.Random(0)
    corners: list[Any] = [lambda low, high: low, lambda low, high: high, rng.uniform, rng.uniform]
    corners.append(lambda low, high: rng.choice([low, high, min(max(low, 0), high)]))
    for corner in corners:
        run.of(example(corner))
    return run


@settings(max_examples=settings().max_examples // 4)
@given(number_programs())
def test_what_is_verified_is_defined_and_inside(program: str) -> None:
    claims = verified(program)
    event(f"{min(len(claims), 3)} claims")
    if claims:
        run = runs(program)
        for claim in claims:
            event(f"{claim.code} verified")
            assert claim.place is not None
            line, operation = claim.place.line, claim.claim.split()[0]
            is_index = claim.code == "DF203"
            refuted = line in run.outside if is_index else (operation, line) in run.undefined
            assert not refuted, f"{claim}\n{HEADER}{program}"
