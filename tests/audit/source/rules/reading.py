"""What the source engine finds in a program: codes and lines."""

from __future__ import annotations

import textwrap

from verax.audit.finding import Finding
from verax.audit.source.analyse import audit_text

from ...quoting import problems

HEAD = """\
import functools
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
"""
LINES = HEAD.count("\n")


def found(code: str, program: str) -> list[int]:
    """The lines of a program, after the usual imports, at which a rule fires."""
    return sorted(it.place.line - LINES for it in _findings(program) if it.code == code)


def found_of(family: str, program: str) -> list[tuple[str, int]]:
    """The codes of a family that are found, each with its line after the usual imports."""
    found = [it for it in _findings(program) if it.family == family]
    return [(it.code, it.place.line - LINES) for it in found]


def led_by(code: str, program: str) -> list[list[int]]:
    """The lines that each finding of a rule goes back to, after the usual imports."""
    found = [it.evidence for it in _findings(program) if it.code == code]
    return [[it.place.line - LINES for it in steps if it.place is not None] for steps in found]


def _findings(program: str) -> tuple[Finding, ...]:
    text = HEAD + textwrap.dedent(program).lstrip("\n")
    findings = audit_text(text, strict=True).findings
    for it in findings:
        assert not list(problems(it, text)), it.fix
    return findings
