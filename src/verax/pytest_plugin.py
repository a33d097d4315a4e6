"""`pytest --verax`: audit what tests jit, map, differentiate and scan, on their own arguments.

Without the option nothing happens, and nothing is imported. With pytest-xdist each worker audits
what it has run, and sends what it has seen as JSON to the process that prints the summary. That one
keeps all of it in `.verax/`, for later audits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from verax.audit.frontends.run.observations import Observations
    from verax.audit.frontends.run.session import Session
    from verax.audit.report import Report

_FAIL_ON = ("certain", "critical", "error", "minor", "never")
_FROM_WORKER = "verax"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    group = parser.getgroup("verax", "audits of what tests do with JAX")
    group.addoption(
        "--verax", action="store_true", help="audit the functions that tests jit, grad or scan"
    )
    group.addoption(
        "--verax-select",
        metavar="CODES",
        action="append",
        help="only these rules: codes, their beginnings, or names (AX,RK001,key-reused)",
    )
    group.addoption(
        "--verax-fail-on",
        choices=_FAIL_ON,
        default="never",
        help="fail the run for issues of this severity, or for certain ones (default: never)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch from the beginning, if that was asked for."""
    if config.getoption("--verax"):
        config.pluginmanager.register(_Plugin(config), "verax-watching")


class _Plugin:
    """Watches one process, and keeps the reports of all."""

    def __init__(self, config: pytest.Config):
        from verax.audit.errors import UsageError
        from verax.audit.frontends.run.session import Session
        from verax.audit.selection import Selection, parse_codes

        try:
            codes = parse_codes(config.getoption("--verax-select") or (), "--verax-select")
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        self._selection = Selection(select=codes)
        self._fail_on = str(config.getoption("--verax-fail-on"))
        self._here = os.getcwd()
        self._seen: list[Observations] = []
        # The process that has workers runs no test itself.
        self._session: Session | None = None if _has_workers(config) else Session()
        if self._session is not None:
            self._session.start()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Audit what this process has run."""
        if self._session is not None:
            self._session.stop()
            self._seen.append(_audited(self._session))
            output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
            if output is not None:
                from verax.audit.frontends.run.stored_json import to_json

                output[_FROM_WORKER] = to_json(self._seen[0])
                return
        from verax.audit.command import fails

        self._keep()
        if session.exitstatus == 0 and fails(self._report(), self._fail_on):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take what a worker has seen that has ended."""
        text = getattr(node, "workeroutput", {}).get(_FROM_WORKER)
        if text is not None:
            from verax.audit.frontends.run.stored_json import of_json

            self._seen.append(of_json(text))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show what was found, a line each."""
        from verax.audit.plain import inert
        from verax.audit.render.to_concise import render

        terminalreporter.section("verax")
        terminalreporter.write(inert(render(self._report())))

    def _report(self) -> Report:
        from verax.audit.causes import one_a_cause
        from verax.audit.frontends.run.observations import united
        from verax.audit.report import merged

        report = merged(united(self._seen).reports())
        return one_a_cause(self._selection.apply(report))

    def _keep(self) -> None:
        """Keep what was seen for later audits. A failure is one line on stderr."""
        from verax.audit.errors import UsageError
        from verax.audit.frontends.run.observations import united
        from verax.audit.frontends.run.store import write
        from verax.audit.output import write_error

        seen = united(self._seen)
        if seen.functions:
            try:
                write(seen, self._here)
            except UsageError as error:
                write_error(str(error))


def _audited(session: Session) -> Observations:
    from verax.audit.frontends.run.auditing import report_of
    from verax.audit.frontends.run.observations import of_report

    report = report_of(session, "tests")
    if session.recorder is None:
        return of_report(report)
    from verax.audit.frontends.run.keeping import observations_of

    return observations_of(session.recorder, report, session.started)


def _has_workers(config: pytest.Config) -> bool:
    is_worker = hasattr(config, "workerinput")
    return not is_worker and bool(getattr(config.option, "tx", None))
