"""A version of a work tree in memory, and how it is laid out in an empty folder.

Whoever made the repository chose all names and all links in it, and git itself accepts trees that
no checkout would write. So a tree holds names that are one part of a path each, once each, and its
files are written before any link is there that they could be written through. Only those links are
made that lead to something in the tree.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_HOPS = 40  # as on Linux

# What macOS leaves out where it compares names.
_IGNORED = dict.fromkeys(
    (0xFEFF, *range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070))
)


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


class Folder(dict[str, "bytes | Link | Folder"]):
    """What lies in a folder, by name: contents of files, links, folders."""

    def at(self, parts: Sequence[str]) -> bytes | Link | Folder | None:
        """What a path names, without following links; `None` where there is nothing."""
        node: bytes | Link | Folder | None = self
        for part in parts:
            node = node.get(part) if isinstance(node, Folder) else None
        return node

    def add(self, parts: Sequence[str], content: bytes) -> None:
        """Add a file and the folders above it, unless something stands in its way."""
        if not all(map(is_safe, parts)):
            return
        folder = self
        for part in parts[:-1]:
            inner = folder.setdefault(part, Folder())
            if not isinstance(inner, Folder):
                return
            folder = inner
        folder.setdefault(parts[-1], content)

    def prune(self) -> None:
        """Drop folders that hold nothing."""
        folders = _inner(self)
        for _, _, folder in folders:
            folders += _inner(folder)
        for above, name, folder in reversed(folders):
            if not folder:
                del above[name]

    def leads_inside(self, folder: Sequence[str], link: Link) -> bool:
        """Whether a link in one of its folders leads to something in it, never leaving it."""
        at, left, hops = list(folder), _parts(link), 0
        while left:
            part = left.pop()
            if part == "..":
                if not at:
                    return False
                at.pop()
                continue
            node = self.at([*at, part])
            if node is None:
                return False
            if isinstance(node, Link):
                hops += 1
                left += _parts(node)
                if hops > _MOST_HOPS:
                    return False
            else:
                at.append(part)
        return True


def _inner(folder: Folder) -> list[tuple[Folder, str, Folder]]:
    return [(folder, name, node) for name, node in folder.items() if isinstance(node, Folder)]


def _parts(link: Link) -> list[str]:
    """The parts of a link's target, the last one first. None of a tree's is called `/`."""
    start = ["/"] if link.target.startswith("/") else []
    return [*(it for it in reversed(link.target.split("/")) if it not in ("", ".")), *start]


def is_safe(name: str) -> bool:
    """Whether a name is one part of a path, on any system, and not git's own folder on any."""
    if "/" in name or "\0" in name or (os.name == "nt" and set(name) & {"\\", ":"}):
        return False
    # Windows drops dots and spaces at the end, and takes a colon for what a stream follows.
    plain = name.translate(_IGNORED).partition(":")[0].rstrip(". ").lower()
    return plain not in ("", ".git", "git~1")


def lay_out(tree: Folder, top: str) -> dict[str, str]:
    """Write a tree to a folder that is there, empty and nobody else's.

    Returns what the system would not write, by path in the tree, and why.
    """
    problems: dict[str, str] = {}
    links: list[tuple[list[str], Link]] = []
    distinct = True
    waiting: list[tuple[list[str], Folder]] = [([], tree)]
    while waiting:
        above, folder = waiting.pop()
        for name, node in folder.items():
            parts = [*above, name]
            path = os.path.join(top, *parts)
            try:
                if isinstance(node, Folder):
                    os.mkdir(path)
                    waiting.append((parts, node))
                elif isinstance(node, Link):
                    links.append((parts, node))
                else:
                    _write_new(path, node)
            except OSError as error:
                # To this system, two names of the tree are one: where links lead is not known.
                distinct = distinct and not isinstance(error, FileExistsError)
                problems["/".join(parts)] = error.strerror or str(error)
    if distinct:
        problems |= _make_links(tree, top, links)
    return problems


def _make_links(tree: Folder, top: str, links: Sequence[tuple[list[str], Link]]) -> dict[str, str]:
    problems: dict[str, str] = {}
    for parts, link in links:
        if tree.leads_inside(parts[:-1], link):
            try:
                os.symlink(link.target, os.path.join(top, *parts))
            except OSError as error:
                problems["/".join(parts)] = error.strerror or str(error)
    return problems


def _write_new(path: str, content: bytes) -> None:
    # `x` neither follows a link nor takes a file that is there.
    with open(path, "xb") as file:
        file.write(content)
