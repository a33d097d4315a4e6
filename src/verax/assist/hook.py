"""`verax hook`: the findings that a change brings, for whoever made it.

It runs at every edit and at every commit, mostly where there is nothing to say. So the engine is
loaded only if a file that has changed names JAX or one of its libraries; an earlier version is read
only if there are findings now.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verax.audit.errors import UsageError
from verax.audit.files import read_bytes
from verax.audit.git import Repository
from verax.audit.settings import Settings
from verax.audit.source.discover import SUFFIXES, is_excluded
from verax.audit.source.of_jax import mentions_jax
from verax.audit.source.reading import DEFAULT_MAX_BYTES, limit_of

if TYPE_CHECKING:
    from verax.audit.finding import Finding
    from verax.audit.report import Report
    from verax.audit.source.engine import Options

_HOOK = "verax hook"
_PATTERNS = tuple(f"*{suffix}" for suffix in SUFFIXES)


@dataclass(frozen=True)
class Answer:
    """What there is to say of a change: its findings, and what could not be audited."""

    report: Report | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """The files that have changed.

    Where they are staged in a repository, what they hold is what the next commit has there, which
    the work tree may have left since.
    """

    files: tuple[str, ...]
    staged_in: Repository | None = None

    def contents(self, settings: Settings, only: Container[str] | None = None) -> dict[str, bytes]:
        """What files hold, perhaps `only` some of them, where that is not what is on disk."""
        if self.staged_in is None:
            return {}
        return self.staged_in.unlike_files(_PATTERNS, lambda file: _most(file, settings), only)


def staged_files() -> Change:
    """The files of the next commit.

    Raises:
        UsageError: There is no repository here.
    """
    repository = Repository.of(".", _HOOK)
    return Change(tuple(repository.staged(_PATTERNS)), repository)


def changed_files() -> Change:
    """The files that differ from the last commit; none, where there is no repository."""
    repository = _repository(".")
    return Change(() if repository is None else tuple(repository.changed(_PATTERNS)))


def of_concern(change: Change, settings: Settings) -> Change:
    """The change of Python files that are there, that nobody has excluded, and that name JAX."""
    base = str(settings.folder or "")
    files = [
        file
        for file in dict.fromkeys(map(os.path.abspath, change.files))
        if file.endswith(SUFFIXES) and not is_excluded(file, settings.exclude, base)
    ]
    contents = change.contents(settings, files)
    kept = (file for file in files if _names_jax(file, contents.get(file), settings))
    return replace(change, files=tuple(kept))


def _names_jax(file: str, content: bytes | None, settings: Settings) -> bool:
    try:
        return mentions_jax(read_bytes(file, _most(file, settings)) if content is None else content)
    except OSError:
        return False  # it is gone, or is no ordinary file, or is too large to be audited


def _most(file: str, settings: Settings) -> int:
    return limit_of(file, settings.max_file_size or DEFAULT_MAX_BYTES)


def audit_change(change: Change, settings: Settings) -> Answer:
    """What a change of some files brings.

    Where a file lies in a git repository, and git does not ignore it, that is what was not found at
    `HEAD`; else all that is found in it.

    Raises:
        UsageError: The settings are wrong.
    """
    files = change.files
    if not files:
        return Answer()
    from verax.audit.baseline import read_baseline, without_known
    from verax.audit.causes import one_a_cause
    from verax.audit.child import Given
    from verax.audit.command import audit_targets, not_audited
    from verax.audit.selection import Selection, parse_codes
    from verax.audit.source.engine import Options
    from verax.audit.target import to_read

    where = f"{settings.file}, [tool.verax]"
    selection = Selection(
        parse_codes(settings.select, f"{where} select"),
        parse_codes(settings.ignore, f"{where} ignore"),
        settings.preview,
    )
    options = Options(
        base=str(settings.folder or ""),
        max_bytes=settings.max_file_size or DEFAULT_MAX_BYTES,
        sections=False,
        contents=change.contents(settings),
    )
    report = selection.apply(audit_targets(map(to_read, files), Given(), options=options))
    problems = tuple(map(str, not_audited(report)))
    if report.findings and settings.baseline and settings.folder:
        report = without_known(report, read_baseline(str(settings.folder / settings.baseline)))
    if report.findings:
        known, reasons = _earlier(report, files, options)
        problems += reasons
        report = replace(
            report,
            issues=tuple(it for it in report.issues if it not in known),
            warnings=tuple(it for it in report.warnings if it not in known),
        )
    return Answer(one_a_cause(report), problems)


def _earlier(
    report: Report, files: Sequence[str], options: Options
) -> tuple[set[Finding], tuple[str, ...]]:
    """Those findings that were there at `HEAD`, and why others could not be compared.

    What could not be compared counts as known: nobody is stopped for what somebody else did.
    """
    from verax.audit.child import Given
    from verax.audit.command import audit_change as compare
    from verax.audit.target import to_read

    known: set[Finding] = set()
    problems: list[str] = []
    for repository, own in _by_repository(files).items():
        try:
            tracked = _not_ignored(repository, own)
            if tracked and repository.has_commit():
                _, before = compare(map(to_read, tracked), "HEAD", Given(), options=options)
                known |= before.findings
        except UsageError as error:
            problems.append(str(error))
            known.update(it for it in report.findings if it.place.file in own)
    return known, tuple(problems)


def _by_repository(files: Iterable[str]) -> dict[Repository, list[str]]:
    """The files that lie in repositories."""
    found: dict[str, Repository | None] = {}
    groups: dict[Repository, list[str]] = {}
    for file in files:
        folder = os.path.dirname(file)
        if folder not in found:
            found[folder] = _repository(folder)
        repository = found[folder]
        if repository is not None:
            groups.setdefault(repository, []).append(file)
    return groups


def _not_ignored(repository: Repository, files: Iterable[str]) -> list[str]:
    """The files that have a history, or will have one."""
    relative = {file: os.path.relpath(_real(file), repository.top) for file in files}
    ignored = set(repository.ignored(relative.values()))
    return [file for file, path in relative.items() if path not in ignored]


def _real(file: str) -> str:
    """The file's path, by way of no link but perhaps itself."""
    folder, name = os.path.split(file)
    return os.path.join(os.path.realpath(folder), name)


def _repository(folder: str) -> Repository | None:
    try:
        return Repository.of(folder, _HOOK)
    except UsageError:
        return None  # there is none, or it is not ours to read, or there is no git
