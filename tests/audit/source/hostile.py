"""What a stranger can put into a repository: objects that git itself would not make, and traps."""

import subprocess
from pathlib import Path

from .repositories import git

FILE, LINK, FOLDER, SUBMODULE = "100644", "120000", "40000", "160000"


def put(kind: str, content: bytes) -> str:
    """Write an object, whatever it holds; its name."""
    command = ["git", "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
    return (
        subprocess.run(command, input=content, check=True, capture_output=True).stdout[:-1].decode()
    )


def blob(text: str) -> str:
    return put("blob", text.encode())


def tree(*entries: tuple[str, str | bytes, str]) -> str:
    """A tree of entries, each with mode, name and object."""
    content = b""
    for mode, name, object in entries:
        name = name.encode() if isinstance(name, str) else name
        content += mode.encode() + b" " + name + b"\0" + bytes.fromhex(object)
    return put("tree", content)


def commit_of(tree: str, branch: str = "old") -> None:
    """Have a branch of its own be a commit of a tree, and let the present work start there."""
    made = git("commit-tree", tree, "-m", "old").strip()
    git("update-ref", f"refs/heads/{branch}", made)


class Canary:
    """Programs that leave a mark where they are run."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()

    def command(self, name: str) -> str:
        """A command for a shell that leaves the mark `name`."""
        return f"touch '{self.folder}/ran {name}'; false"

    def program(self, path: Path, name: str) -> Path:
        """The same as a program at a path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{self.command(name)}\n")
        path.chmod(0o755)
        return path

    def marks(self) -> set[str]:
        """What has been run."""
        return {path.name for path in self.folder.glob("ran *")}


def contents(folder: Path) -> dict[str, bytes | str]:
    """All that lies in a folder: files by content, links by target."""
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }
