"""Programs whose lines say what the auditor has to find in them.

A line that ends in `# RK001` claims a finding of that code there, among issues or warnings; what is
not claimed must not be found. Only the codes of one family count, so that rules of others can grow.
"""

from __future__ import annotations

import re
from textwrap import dedent

from verax.audit.report import Report
from verax.audit.rules.registry import all_rules
from verax.audit.run import audit_source

from ..quoting import problems

_HEADER = """\
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import lax, random
from jax.lax import stop_gradient
"""


def audit_family(family: str, source: str) -> Report:
    """Audit a program with the rules of one family."""
    rules = [rule for rule in all_rules() if rule.family == family]
    return audit_source(source, rules=rules, strict=True)


def assert_claims(family: str, program: str) -> Report:
    """Hold a program to what its lines claim; the imports are added."""
    source = _HEADER + dedent(program)
    report = audit_family(family, source)
    assert not report.notes, report.notes
    for it in report.findings:
        assert not list(problems(it, source)), it.fix
    found = {(it.code, it.place.line) for it in report.findings}
    claimed = {
        (code, number)
        for number, line in enumerate(source.splitlines(), 1)
        for code in re.findall(r"#.*?\b([A-Z]{2}\d{3})\b", line)
    }
    assert found == claimed, "\n".join(
        f"{it.code} at {it.place.line}: {it.current}" for it in report.findings
    )
    return report
