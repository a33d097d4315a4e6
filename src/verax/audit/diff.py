"""`--diff`: which findings were there before a change, so that only what it breaks is shown.

A file that has not changed, and that depends on none that has, tells now what it told then. The
others are laid out as they were in a temporary folder, and audited there.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from .child import Given, Where, audit_in_child
from .errors import OwnError, UsageError
from .finding import Finding
from .git import Repository
from .places import map_places
from .recognise import Known, Recogniser
from .report import Report, merged
from .scratch import temporary_folder
from .source.discover import SUFFIXES, discover
from .source.disk import kind_of
from .source.engine import Audited, Options, audit_each
from .source.outcome import Texts
from .source.reading import digest_of_file, limit_of
from .source.roots import import_roots
from .suppressions import without_suppressed
from .target import STDIN, FunctionTarget, SourceTarget, Target, home_of
from .tree import Folder, lay_out
from .version import Limit, read_version

_T = TypeVar("_T")

_MOST_NAMED = 4
_LONGEST_SHOWN = 100


@dataclass(frozen=True)
class Change:
    """What has changed since a revision, in the repository that all targets lie in."""

    repository: Repository
    commit: str
    since: str


@dataclass(frozen=True)
class Asked:
    """What is audited now, and is to be audited as it was."""

    targets: Sequence[Target]
    given: Given
    timeout: float
    options: Options


@dataclass(frozen=True)
class Before:
    """Findings of a report that were there before, and since when.

    `notes` tell what could not be audited as it was.
    """

    findings: frozenset[Finding]
    since: str
    notes: tuple[str, ...] = ()


def change_since(revision: str, targets: Sequence[Target]) -> Change:
    """The change since the present work has left the history of a revision.

    Raises:
        UsageError: There is no such revision, or a target has no earlier version.
    """
    option = f"--diff {revision}"
    folders = list(dict.fromkeys(_folder(target, option) for target in targets))
    repository = Repository.of(folders[0], option)
    for folder in folders[1:]:
        if Repository.of(folder, option) != repository:
            raise UsageError(f"{option}: {folders[0]} and {folder} lie in different repositories")
    commit = repository.commit(revision)
    fork = repository.fork(commit)
    since = revision if fork == commit else f"{fork[:8]}, where {revision} was left"
    return Change(repository, fork, since)


def _folder(target: Target, option: str) -> str:
    """The folder that a target lies in."""
    if isinstance(target, FunctionTarget):
        path = home_of(target)
        if path is None:
            raise UsageError(f"{option}: target {target.text!r}: there is no module {target.home}")
    elif target.text == STDIN:
        raise UsageError(f"{option}: standard input has no earlier version; name a file")
    else:
        path = str(target.path)
    return path if os.path.isdir(path) else os.path.dirname(path) or "."


def found_before(change: Change, report: Report, audited: Audited, asked: Asked) -> Before:
    """Those findings of a report that were there before a change."""
    limit = _limit(asked.options.max_bytes)
    version = read_version(change.repository, change.commit, limit)
    with temporary_folder() as folder:
        old = _Old(change.repository, folder)
        depends = (*audited.digests.values(), *audited.kinds.values())
        asked_about = {path for it in depends for path in it}
        old.add_ignored(version.tree, asked_about, limit)
        problems = version.problems | old.lay_out(version.tree)
        changed = {
            file: old.changed(digests, digest_of_file) or old.changed(audited.kinds[file], kind_of)
            for file, digests in audited.digests.items()
        }
        then, notes = _findings_then(old, changed, audited, asked)
    targets = [str(it.path) for it in asked.targets if isinstance(it, SourceTarget)]
    notes += _told(old.of_concern(problems, targets, asked_about))
    same = [audited.reports[file] for file, is_changed in changed.items() if not is_changed]
    certain = {finding.identity for part in same for finding in part.findings}
    left = [it for it in report.findings if it.identity not in certain]
    recogniser = Recogniser(change.repository.top, audited.read)
    new = set(_unmatched(then, [(recogniser.known(it), it) for it in left]))
    known = frozenset(it for it in report.findings if it not in new)
    return Before(known, change.since, tuple(f"{note} at {change.since}" for note in notes))


def _limit(max_bytes: int) -> Limit:
    """What is wanted of an earlier version: all that the audit of files reads."""
    wanted = (*SUFFIXES, ".gitignore")
    return lambda path: limit_of(path, max_bytes) if path.endswith(wanted) else 0


def _told(problems: Mapping[str, str]) -> list[str]:
    """Notes of files that could not be had as they were, one a reason."""
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for path, why in problems.items():
        by_reason[why].append(_shown(path) or "all of it")
    return [
        f"{_some(paths)} could not be read as {'they were' if len(paths) > 1 else 'it was'} ({why})"
        for why, paths in by_reason.items()
    ]


def _shown(path: str) -> str:
    if len(path) > _LONGEST_SHOWN:
        path = f"{path[: _LONGEST_SHOWN - 3]}..."
    return path if path.isprintable() else repr(path)


def _some(names: Sequence[str]) -> str:
    shown = names if len(names) <= _MOST_NAMED else names[: _MOST_NAMED - 1]
    more = len(names) - len(shown)
    last = f"{more} more files" if more else shown[-1]
    others = shown if more else shown[:-1]
    return f"{', '.join(others)} and {last}" if others else last


class _Old:
    """The tree as it was, in a temporary folder."""

    def __init__(self, repository: Repository, folder: str):
        self._repository = repository
        # By the same name, which is a package's where the top is one; alone in a folder, so that
        # nothing that lies beside it can be imported.
        self.folder = os.path.join(folder, os.path.basename(repository.top) or "top")
        os.mkdir(self.folder)

    def lay_out(self, tree: Folder) -> dict[str, str]:
        """Write the tree; returns what the system would not write, and why."""
        problems = lay_out(tree, self.folder)
        # What searches for files takes this for the top of a repository.
        os.mkdir(os.path.join(self.folder, ".git"))
        return problems

    def path(self, path: str) -> str:
        """Where a path of the work tree is in the old one; what lies outside stays."""
        relative = self._relative(path)
        return path if relative is None else os.path.normpath(os.path.join(self.folder, relative))

    def within(self, folder: str) -> str:
        """What of a folder there was: all of the old tree, where the repository lies in it."""
        return self.folder if self._relative(folder) is None else self.path(folder)

    def _relative(self, path: str) -> str | None:
        folder, name = os.path.split(os.path.abspath(path))
        real = os.path.join(os.path.realpath(folder), name)
        top = self._repository.top
        if os.path.realpath(path) == top:
            return "."
        inside = real.startswith(top.rstrip(os.sep) + os.sep)
        return os.path.relpath(real, top) if inside else None

    def of_concern(
        self, problems: Mapping[str, str], targets: Iterable[str], read: Iterable[str]
    ) -> dict[str, str]:
        """Those problems that are with targets, files that were read, or what these lie in."""
        tops = {relative for it in targets if (relative := self._relative(it)) is not None}
        paths = tops | {relative for it in read if (relative := self._relative(it)) is not None}
        around = {"/".join(parts) for it in paths for parts in _starts(it.split(os.sep))}
        return {
            path: why
            for path, why in problems.items()
            if path.rstrip("/") in around
            or "." in tops
            or any("/".join(parts) in tops for parts in _starts(path.split("/")))
        }

    def changed(self, answers: Mapping[str, str], ask: Callable[[str], str]) -> bool:
        """Whether a question about some paths, each with its present answer, had another one."""
        return any(
            ask(old) != answer
            for path, answer in answers.items()
            if (old := self.path(path)) != path
        )

    def add_ignored(self, tree: Folder, files: Iterable[str], limit: Limit) -> None:
        """Add files of the work tree that git ignores: what is generated has no history."""
        only_now = {
            relative: file
            for file in files
            if (relative := self._relative(file)) is not None
            and os.path.isfile(file)
            and tree.at(relative.split(os.sep)) is None
        }
        for relative in self._repository.ignored(only_now) if only_now else ():
            most = limit(relative)
            with suppress(OSError), open(only_now[relative], "rb") as file:
                content = file.read(most + 1)
                if len(content) <= most:
                    tree.add(relative.split(os.sep), content)


def _starts(parts: Sequence[str]) -> list[Sequence[str]]:
    """The empty path, and all that lead to a path, itself the last."""
    return [parts[:end] for end in range(len(parts) + 1)]


def _findings_then(
    old: _Old, changed: Mapping[str, bool], audited: Audited, asked: Asked
) -> tuple[list[tuple[Known, Finding]], list[str]]:
    """Findings of targets as they were, and notes of what could not be traced.

    Of files only those are read that would tell something else now, or are gone.
    """
    options = asked.options
    sources = [str(it.path) for it in asked.targets if isinstance(it, SourceTarget)]
    paths = filter(os.path.exists, map(old.path, (*sources, *sorted(audited.beside))))
    base = old.path(options.base or os.getcwd())
    found = discover(paths, options.exclude, base).files
    same = {old.path(file) for file, is_changed in changed.items() if not is_changed}
    within = options.within and old.within(options.within)
    texts = Texts(options.max_bytes, within=within)
    outcomes = audit_each(
        [file for file in found if file not in same],
        import_roots(found, old.path(os.getcwd())),
        texts,
        # A temporary folder is never seen again.
        replace(options, base=base, cache=False, sections=False, within=within, contents={}),
    )
    reports = [outcome.report for outcome in outcomes.values()]
    notes: list[str] = []
    for target in asked.targets:
        if isinstance(target, FunctionTarget):
            try:
                reports.append(_traced_then(old, target, asked))
            except (UsageError, OwnError) as error:
                why = str(error).replace(old.folder + os.sep, "")
                notes.append(f"{target.text} could not be traced as it was ({why})")
    commented = [file for file, outcome in outcomes.items() if outcome.has_comments]
    report = without_suppressed(merged(reports), commented, texts.read)
    recogniser = Recogniser(old.folder, texts.read)
    return [(recogniser.known(it), it) for it in report.findings], notes


def _traced_then(old: _Old, target: FunctionTarget, asked: Asked) -> Report:
    """What the trace of a function tells as it was.

    Raises:
        UsageError: It was not there, or the present one would be imported in its place.
    """
    file = None if target.file is None else old.path(os.path.abspath(target.file))
    if file is not None and not os.path.exists(file):
        raise UsageError("it was not there")
    search = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    where = Where(old.path(os.getcwd()), os.pathsep.join(old.path(it) for it in search if it))
    try:
        os.makedirs(where.folder, exist_ok=True)
    except OSError:
        raise UsageError(f"{os.getcwd()} was no folder") from None
    report = audit_in_child(replace(target, file=file), asked.given, asked.timeout, where)
    files: set[str] = set()
    map_places(report, lambda place: files.add(place.file) or place)
    if any(old.path(file) != file for file in files):
        raise UsageError("parts of it are installed from the work tree, as they are now")
    return report


def _unmatched(
    then: Iterable[tuple[Known, Finding]], now: Iterable[tuple[Known, Finding]]
) -> list[Finding]:
    """Findings that are new: neither in the same file before, nor moved from another one."""
    then, now = _left([(it, it[0]) for it in then], [(it, it[0]) for it in now])
    _, moved = _left([(it, _moving(*it)) for it in then], [(it, _moving(*it)) for it in now])
    return [finding for _, finding in moved]


def _moving(known: Known, finding: Finding) -> tuple[str, str, str]:
    """What stays when a function moves to another file, or its file gets another name."""
    return known.code, finding.place.function, known.text


def _left(
    then: Iterable[tuple[_T, object]], now: Iterable[tuple[_T, object]]
) -> tuple[list[_T], list[_T]]:
    """What is left of two lists of things with keys, after each key is paired off."""
    then, now = list(then), list(now)
    both = Counter(key for _, key in then) & Counter(key for _, key in now)
    return _without(then, both), _without(now, both)


def _without(pairs: Iterable[tuple[_T, object]], keys: Mapping[object, int]) -> list[_T]:
    left = Counter(keys)
    kept: list[_T] = []
    for thing, key in pairs:
        left[key] -= 1
        if left[key] < 0:
            kept.append(thing)
    return kept


def without_earlier(report: Report, before: Before) -> Report:
    """The report without findings that were there before, and a note of how many."""
    issues = tuple(it for it in report.issues if it not in before.findings)
    warnings = tuple(it for it in report.warnings if it not in before.findings)
    gone = len(report.findings) - len(issues) - len(warnings)
    text = f"{gone} finding{'s' * (gone != 1)} {'was' if gone == 1 else 'were'} there already at "
    told = (text + before.since,) if gone else ()
    notes = (*report.notes, *before.notes, *told)
    return replace(report, issues=issues, warnings=warnings, notes=notes)
