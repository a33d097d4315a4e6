"""From targets to a report: trace, gather facts, ask every rule.

A rule that fails is a note in the report, never the end of an audit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .finding import Finding, Verified, without_repetition
from .report import Report
from .rules._rule import Rule


def audit_callable(
    function: Callable[..., object],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    axes: Mapping[str, Any] | None = None,
    ranges: Mapping[str, Any] | None = None,
    target: str = "",
    rules: Iterable[Rule] | None = None,
    strict: bool = False,
) -> Report:
    """Audit a function as it would run on these arguments.

    With `strict`, a rule that fails raises: for our own tests.
    """
    from .rules.registry import all_rules
    from .trace.entry import trace
    from .trace.facts import Facts
    from .trace.sections import sections_of

    traced = trace(function, args, kwargs)
    facts = Facts(traced, axes, ranges)
    notes = list(traced.notes)
    issues: list[Finding] = []
    warnings: list[Finding] = []
    verified: list[Verified] = []
    for rule in all_rules() if rules is None else rules:
        if rule.trace is None:
            continue
        try:
            verdicts = list(rule.trace(facts))
        except Exception as error:
            if strict:
                raise
            notes.append(f"rule {rule.code} failed: {type(error).__name__}: {error}")
            continue
        for verdict in verdicts:
            if isinstance(verdict, Verified):
                verified.append(verdict)
            else:
                (warnings if rule.warns else issues).append(verdict)
    return Report(
        target=target or traced.name,
        **sections_of(facts),
        issues=without_repetition(issues),
        verified=tuple(verified),
        warnings=without_repetition(warnings),
        notes=tuple(notes),
    )


def audit_source(source: str, name: str = "program", **options: Any) -> Report:
    """Run a program text and audit its `entry` on its `inputs()`, with the axes in `AXES`.

    For the examples of rules. The text is written to a file for the time of the audit, since
    places need one.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.py")
        path.write_text(source)
        module: dict[str, Any] = {"__name__": name, "__file__": str(path)}
        exec(compile(source, str(path), "exec", dont_inherit=True), module)
        inputs = module["inputs"]()
        return audit_callable(
            module["entry"],
            tuple(inputs),
            {},
            axes=module.get("AXES"),
            ranges=module.get("RANGES"),
            target=name,
            **options,
        )
