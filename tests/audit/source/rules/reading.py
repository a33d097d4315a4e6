"""What the source engine finds in a program: codes and lines."""

from __future__ import annotations

import textwrap

from verax.audit.source.analyse import audit_text

HEAD = """\
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
"""
LINES = HEAD.count("\n")


def found(code: str, program: str) -> list[int]:
    """The lines of a program, after the usual imports, at which a rule fires."""
    report = audit_text(HEAD + textwrap.dedent(program).lstrip("\n"), strict=True)
    return sorted(it.place.line - LINES for it in report.findings if it.code == code)
