"""Programs that say, in comments, which codes are to be found on which lines."""

from __future__ import annotations

import re
import textwrap

from verax.audit.source.analyse import audit_text

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
    found = [f"{it.code}:{it.place.line}" for it in report.findings if it.family == family]
    return sorted(claimed), sorted(found)
