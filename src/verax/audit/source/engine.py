"""From files and folders to one report: discover, read, analyse, answer, merge."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from ..output import write_note
from ..report import Report, Unread, findings_only, merged, noted
from ..suppressions import without_suppressed
from .cache import Cache
from .discover import discover
from .folders import cache_folder
from .limits import DEFAULT, Limits
from .outcome import Outcome, Texts
from .parallel import audit_all
from .progress import Bar
from .reading import DEFAULT_MAX_BYTES, SourceText
from .roots import import_roots

# The name of what comes from standard input; no file can have it everywhere, none needs it.
STDIN = "<stdin>"


@dataclass(frozen=True)
class Options:
    """How to look for files and to read them.

    `exclude` has patterns relative to the folder `base`. `jobs` is the number of processes, or
    `None` for one a core. Without `sections` only findings are reported, and not how data flows,
    which takes most of the time if nothing has changed. `limits` bound the work for each file. With
    `within`, no file outside of that folder is read, be it by a link or by an import. `contents`
    are what some files hold instead of what is on disk, which neither the cache nor other processes
    know. `observed` has, by the real path of a file, what its functions were called with in a run.
    """

    exclude: tuple[str, ...] = ()
    base: str = ""
    max_bytes: int = DEFAULT_MAX_BYTES
    jobs: int | None = None
    cache: bool = True
    sections: bool = True
    limits: Limits = DEFAULT
    within: str = ""
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    observed: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Audited:
    """What an audit of files gave, before comments in them have answered anything.

    `reports` are by file, in order; `unread` is what was not found below folders. `beside` are the
    files that no path meant, `commented` those that may hold `# verax:` comments; `texts` reads
    them as the audit did. `digests` and `kinds` are, by file, what its report depends on: see
    `Outcome`.
    """

    reports: Mapping[str, Report]
    notes: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    beside: frozenset[str] = frozenset()
    commented: frozenset[str] = frozenset()
    texts: Texts = field(default_factory=Texts)
    digests: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def told(self, report: Report) -> Report:
        """A report of these files, after what there is to say of the search for them."""
        found = noted(Report("", notes=self.notes), *self.unread)
        notes = (*found.notes, *report.notes)
        return replace(report, notes=notes, unread=(*found.unread, *report.unread))

    def read(self, path: str) -> SourceText:
        """The text of a file, as the audit has read it."""
        return self.texts.read(path)


def audit_paths(paths: Sequence[str], options: Options | None = None) -> Report:
    """One report about files and folders, without what comments in them answer."""
    audited = audit_files(paths, options or Options())
    report = merged(audited.reports.values())
    report = audited.told(replace(report, target=", ".join(sorted(paths))))
    return without_suppressed(report, audited.commented, audited.read)


def audit_files(
    paths: Sequence[str],
    options: Options,
    stdin: bytes | None = None,
    also: Sequence[str] = (),
) -> Audited:
    """A report for each of the files that paths mean, and for those in `also`.

    `stdin` is the text of one more file.
    """
    # In whatever order paths are given, the audit is the same.
    found = discover(sorted(paths), options.exclude, options.base)
    here = os.getcwd()
    known = {os.path.realpath(file) for file in found.files} if also else set[str]()
    beside = [file for file in also if os.path.realpath(file) not in known]
    given = {} if stdin is None else {os.path.join(here, STDIN): stdin}
    files = [*found.files, *given, *beside]
    if options.contents:
        options = replace(options, cache=False, jobs=1)
    texts = Texts(options.max_bytes, {**options.contents, **given}, options.within)
    roots = import_roots(files, here)
    outcomes = audit_each([file for file in files if file not in given], roots, texts, options)
    if given:
        from .one_file import Auditor

        outcomes |= {
            file: Auditor(roots, texts, limits=options.limits).audit(file) for file in given
        }
    outcomes = _of_jax(outcomes)
    notes: list[str] = []
    if not files:
        notes.append(f"{', '.join(paths)}: there is no Python file and no notebook to audit")
    if count := sum(it.observed for it in outcomes.values()):
        functions = "1 function was" if count == 1 else f"{count} functions were"
        notes.append(f"{functions} also followed on the shapes that a run has shown (.verax/)")
    return Audited(
        {file: outcomes[file].report for file in files},
        tuple(notes),
        found.unread,
        frozenset(beside),
        frozenset(file for file, outcome in outcomes.items() if outcome.has_comments),
        texts,
        {file: outcome.digests for file, outcome in outcomes.items()},
        {file: outcome.kinds for file, outcome in outcomes.items()},
    )


def _of_jax(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """The outcomes without findings in files that have nothing to do with JAX.

    These neither import it nor are imported by a file that does: their arrays are another
    library's, and what they do is not ours to judge.
    """
    with_jax = [it for it in outcomes.values() if it.uses_jax]
    reached = {file for outcome in with_jax for file in outcome.digests}
    return {
        file: outcome
        if outcome.uses_jax or file in reached
        else replace(outcome, report=replace(outcome.report, issues=(), warnings=(), verified=()))
        for file, outcome in outcomes.items()
    }


def audit_each(
    files: Sequence[str], roots: Sequence[str], texts: Texts, options: Options
) -> dict[str, Outcome]:
    """What each file told, from the cache where nothing has changed."""
    outcomes: dict[str, Outcome] = {}
    folder = cache_folder() if options.cache else None
    settings = [*roots, str(options.max_bytes), str(options.limits)]
    settings += [f"within {options.within}"] * bool(options.within)
    observed = _by_name(files, options.observed)
    with Bar(len(files)) as bar, Cache(folder, settings, observed) as cache:
        for file in files:
            outcome = cache.get(file, options.sections)
            if outcome is not None:
                outcomes[file] = outcome
                bar.advance()
        new = [file for file in files if file not in outcomes]
        results = audit_all(
            new,
            roots,
            texts,
            max_bytes=options.max_bytes,
            jobs=options.jobs,
            sections=options.sections,
            kept=folder is not None,
            limits=options.limits,
            observed=observed,
        )
        with closing(results):  # ends all processes, also after an interrupt
            for done in results:
                cache.put(done.path, done.outcome, done.text)
                report = done.outcome.report
                outcomes[done.path] = replace(
                    done.outcome, report=report if options.sections else findings_only(report)
                )
                bar.advance()
    # Not in the report, which tells the same with a cache as without.
    for note in cache.notes:
        write_note(note)
    return outcomes


def _by_name(files: Sequence[str], observed: Mapping[str, str]) -> dict[str, str]:
    """What was observed in files, by what the audit calls them."""
    if not observed:
        return {}
    return {it: found for it in files if (found := observed.get(os.path.realpath(it)))}
