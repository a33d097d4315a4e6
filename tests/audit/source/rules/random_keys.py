"""What is found of random keys in a program."""

import textwrap

from verax.audit.source.analyse import audit_text

HEADER = (
    "import jax\nimport jax.numpy as jnp\nfrom functools import partial\n"
    "from typing import NamedTuple\nimport equinox as eqx\nfrom flax import linen as nn\n"
)


def found(program: str) -> list[tuple[str, int]]:
    """Codes of this family with the line of the program, which counts from one."""
    report = audit_text(HEADER + textwrap.dedent(program).lstrip("\n"), strict=True)
    lines = HEADER.count("\n")
    return [(it.code, it.place.line - lines) for it in report.findings if it.family == "prng"]
