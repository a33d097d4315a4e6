"""What is verified of derivatives written by hand, held against difference quotients."""

from __future__ import annotations

from hypothesis import event, given, settings

from verax.audit.rules.grad.custom_rule_wrong import RULE
from verax.audit.run import audit_source
from verax.audit.source.analyse import audit_text

from .custom_rules import FOOTER, derivative_is_right, ruled_programs


@settings(max_examples=settings().max_examples // 4)
@given(ruled_programs())
def test_a_derivative_is_right_where_that_is_verified(program: str) -> None:
    traced = audit_source(program + FOOTER, rules=(RULE,), strict=True).verified
    read = audit_text(program + FOOTER, "program", rules=(RULE,)).verified
    event("traced, verified" if traced else "traced, not verified")
    event("read, verified" if read else "read, not verified")
    if traced or read:
        assert derivative_is_right(program), program
