"""From a function to a report: trace, gather facts, ask every rule."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from .finding import CallPath, Engine
from .report import Report, noted
from .rules._rule import Rule

if TYPE_CHECKING:
    from .trace.places import UserCode


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
    witness: bool = False,
    given_by: object = None,
    user_code: UserCode | None = None,
    entered: Callable[[FrameType], None] | None = None,
) -> Report:
    """Audit a function as it would run on these arguments.

    With `strict`, a rule that fails raises: for our own tests. With `witness`, the report says
    which lines the trace passed, for `reconciled`; `given_by` is what has made the arguments.
    `user_code` says which files are the program's, where the function alone does not. With a
    witness, `entered` is called with the frame of each function of the program as it begins.
    """
    from .rules.judging import judged
    from .trace.entry import trace
    from .trace.facts import Facts
    from .trace.sections import sections_of

    traced = trace(function, args, kwargs, user_code)
    facts = Facts(traced, axes, ranges)
    sections, verdicts = sections_of(facts), judged(facts, Engine.TRACE, rules, strict)
    failures = verdicts.pop("failures")
    report = noted(Report(target=target or traced.name, **sections, **verdicts), *failures)
    passed: frozenset[CallPath] = frozenset()
    if witness and traced.failure is None:
        from .trace.witness import witnessed

        passed = witnessed(function, args, kwargs, given_by, user_code, entered)
    return replace(report, notes=(*traced.notes, *report.notes), passed=passed)


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
