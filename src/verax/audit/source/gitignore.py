"""Patterns of .gitignore files, by git's own rules (`man gitignore`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

# Classes of POSIX in ASCII, as git knows them in a bracket: `[[:digit:]]`.
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


_STAR = "*"

# What a pattern has for each part of a path: what matches that part, or `**`, any number of parts.
_Segment = re.Pattern[str] | None


@dataclass(frozen=True)
class Pattern:
    """One line: what it matches, and whether that is ignored or, after a `!`, is not."""

    glob: str
    ignores: bool
    folders_only: bool
    anchored: bool

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether it matches a path, with `/` between its parts, below the pattern's folder."""
        if self.folders_only and not is_folder:
            return False
        parts = path.split("/")
        return self._segments is not None and _matches(
            self._segments, parts if self.anchored else parts[-1:]
        )

    @cached_property
    def _segments(self) -> list[_Segment] | None:
        return _segments(self.glob)


@dataclass(frozen=True)
class Ignore:
    """The patterns of one file; of those that match, the last one counts."""

    patterns: tuple[Pattern, ...]

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Whether a path is ignored, or `None` where no pattern says anything of it."""
        for pattern in reversed(self.patterns):
            if pattern.matches(path, is_folder):
                return pattern.ignores
        return None


def parse(lines: Iterable[str]) -> Ignore:
    """The patterns in the lines of a .gitignore."""
    patterns = (_pattern(line) for line in lines)
    return Ignore(tuple(pattern for pattern in patterns if pattern is not None))


def _pattern(line: str) -> Pattern | None:
    text = _without_trailing_spaces(line.removesuffix("\n").removesuffix("\r"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    glob = text[1:] if negated else text
    folders_only = glob.endswith("/")
    glob = glob.removesuffix("/")
    # A slash anywhere but at the end ties the pattern to its file's folder.
    anchored = "/" in glob
    glob = glob.removeprefix("/")
    return Pattern(glob, not negated, folders_only, anchored) if glob else None


def _without_trailing_spaces(text: str) -> str:
    """The text without spaces at its end, but for one behind a backslash."""
    end = 0
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
            end = at + 1
        elif text[at] != " ":
            end = at + 1
        at += 1
    return text[:end]


def _matches(segments: list[_Segment], parts: list[str]) -> bool:
    """Whether segments match parts; in steps that their numbers bound, whatever they are."""
    reached = {0}
    for at, segment in enumerate(segments):
        if segment is not None:
            reached = {
                end + 1 for end in reached if end < len(parts) and segment.fullmatch(parts[end])
            }
        elif at + 1 < len(segments):
            reached = set(range(min(reached), len(parts) + 1))
        else:
            return min(reached) < len(parts)  # what lies in a folder, but not the folder
        if not reached:
            return False
    return len(parts) in reached


def _segments(glob: str) -> list[_Segment] | None:
    """What a glob says of each part of a path, or `None` if it is broken and matches nothing."""
    segments: list[_Segment] = []
    tokens: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith(("/", "\\/"), at):
            segments.append(_segment(tokens))
            tokens = []
            at += 1 + (char == "\\")
        elif char == "[":
            bracket = _bracket(glob, at)
            if bracket is None:
                return None
            at, token = bracket
            tokens.append(token)
        elif char == "\\":
            if at + 1 == len(glob):
                return None
            tokens.append(re.escape(glob[at + 1]))
            at += 2
        else:
            tokens.append({"*": _STAR, "?": "."}.get(char, re.escape(char)))
            at += 1
    return [*segments, _segment(tokens)]


def _segment(tokens: list[str]) -> _Segment:
    if len(tokens) > 1 and set(tokens) == {_STAR}:
        return None
    first, *others = _between_stars(tokens)
    if not others:
        return re.compile(first, re.DOTALL)
    # What stands between two stars may as well match as early as it can; to say so keeps the
    # matcher from trying everything else.
    middle = "".join(f"(?>.*?{fixed})" for fixed in others[:-1] if fixed)
    return re.compile(f"{first}{middle}.*{others[-1]}", re.DOTALL)


def _between_stars(tokens: list[str]) -> list[str]:
    parts = [""]
    for token in tokens:
        if token == _STAR:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def _bracket(glob: str, start: int) -> tuple[int, str] | None:
    """A bracket as a regular expression, and where the glob goes on."""
    at = start + 1
    negated = at < len(glob) and glob[at] in "!^"
    at += negated
    ranges: list[str] = []
    first = True
    while True:
        if at >= len(glob):
            return None
        if glob[at] == "]" and not first:
            break
        first = False
        if glob.startswith("[:", at):
            end = glob.find(":]", at)
            if end > 0:
                name = glob[at + 2 : end]
                if name not in _CLASSES:
                    return None
                ranges.append(_CLASSES[name])
                at = end + 2
                continue
        low = _literal(glob, at)
        if low is None:
            return None
        char, at = low
        high = char
        if glob.startswith("-", at) and at + 1 < len(glob) and glob[at + 1] != "]":
            upper = _literal(glob, at + 1)
            if upper is None:
                return None
            high, at = upper
        # To git, the lower end of a range is a member whatever the upper end is.
        ranges.append(re.escape(char))
        if char < high:
            ranges.append(f"{re.escape(char)}-{re.escape(high)}")
    inside = "".join(ranges)
    if not inside:
        return at + 1, "." if negated else "(?!)"
    return at + 1, f"[{'^' * negated}{inside}]"


def _literal(glob: str, at: int) -> tuple[str, int] | None:
    if glob[at] != "\\":
        return glob[at], at + 1
    return (glob[at + 1], at + 2) if at + 1 < len(glob) else None
