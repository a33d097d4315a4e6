"""What an assertion that nobody collects leaves behind: nothing.

Compares the optimised HLO of a jitted function with and without its assertions, and the time
of its calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from . import nested_lowering, passing_step, scan_loop
from .contestants import CONTESTANTS, no_check
from .timing import Claim, Effort, Fact, Outcome, race


def optimised_hlo(compiled: Any) -> str:
    """The text of a compiled program, without names and source lines."""
    text = re.sub(r", metadata=\{[^}]*\}", "", compiled.as_text())
    # Tables of files, functions and stack frames follow the computations.
    return "\n".join(line for line in text.splitlines() if not re.match(r"^(\d+ |[A-Z]\w+$)", line))


def run(effort: Effort) -> Iterator[Outcome]:
    programs = {
        "20 assertions": (
            partial(passing_step.step, passing_step.tiny),
            jnp.full((passing_step.CHECKS, 4), 0.5),
        ),
        "scan": (
            partial(scan_loop.checked_scan, scan_loop.cheap_body),
            jnp.float32(0.5),
        ),
        "nested scans": (partial(nested_lowering.nested, 3), jnp.float32(0.5)),
    }
    verax_check = CONTESTANTS["verax"].check
    for name, (program, x) in programs.items():

        @jax.jit
        def plain(x: Any, program: Any = program) -> Any:
            return program(no_check, x)

        @jax.jit
        def asserting(x: Any, program: Any = program) -> Any:
            return program(verax_check, x)

        with_names = [function.lower(x).compile() for function in (plain, asserting)]
        expected, found = (optimised_hlo(compiled) for compiled in with_names)
        found = found.replace("jit_asserting", "jit_plain")
        yield Fact(f"{name}: same optimised HLO", found == expected, f"{len(found)} characters")
        if name == "20 assertions":
            runs = {
                "without assertions": lambda f=plain, x=x: jax.block_until_ready(f(x)),
                "verax, bare": lambda f=asserting, x=x: jax.block_until_ready(f(x)),
            }
            claims = (Claim("verax, bare", "without assertions", 1.05),)
            yield race(f"{name}: a call", runs, effort, claims=claims)
