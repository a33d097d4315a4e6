"""Programs that say, in comments, which codes are to be found on which lines."""

from __future__ import annotations

import re
import textwrap

import pytest

from verax.audit.source.analyse import audit_text

from ...quoting import problems

HEAD = """\
import functools
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.lax import stop_gradient
"""


def claimed_and_found(program: str, family: str) -> tuple[list[str], list[str]]:
    """What a program claims (`# GR010`), and what is found of a family, each with its line."""
    text = HEAD + textwrap.dedent(program).lstrip("\n")
    claimed = [
        f"{code}:{number}"
        for number, line in enumerate(text.split("\n"), 1)
        for code in re.findall(r"# ([A-Z]{2}\d{3})$", line)
    ]
    report = audit_text(text, strict=True)
    found = [it for it in report.findings if it.family == family]
    for it in found:
        assert not list(problems(it, text)), it.fix
    return sorted(claimed), sorted(f"{it.code}:{it.place.line}" for it in found)


def each_of(programs: dict[str, str]) -> pytest.MarkDecorator:
    """For a test of a `program`, which runs with each of these."""
    return pytest.mark.parametrize("program", programs.values(), ids=programs.keys())


def check_found(program: str, family: str) -> None:
    """Some finding is claimed, and all that are claimed are found, and no other."""
    claimed, found = claimed_and_found(program, family)
    assert claimed
    assert found == claimed


def check_claims(program: str, family: str) -> None:
    """All that are claimed are found, if any, and no other."""
    claimed, found = claimed_and_found(program, family)
    assert found == claimed


def check_silent(program: str, family: str) -> None:
    """Nothing is claimed, and nothing is found."""
    assert claimed_and_found(program, family) == ([], [])
