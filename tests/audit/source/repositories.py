"""Small git repositories to work in, and what `--diff` says there."""

import json
import subprocess
from pathlib import Path

from verax.cli import main


def git(*arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    ran = subprocess.run(["git", *who, *arguments], check=True, capture_output=True, text=True)
    return ran.stdout


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", "change")


def write(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.py").write_text(text)


def new(capsys, *arguments: str) -> tuple[list[str], list[str]]:
    """The lines of findings that are new, and the notes."""
    main(["audit", "--format", "json", *(arguments or ("--diff", "main"))])
    out, err = capsys.readouterr()
    assert err == ""
    data = json.loads(out)
    found = (*data["issues"], *data["warnings"])
    return [f"{it['file']}:{it['line']} {it['code']}" for it in found], data["notes"]


def already(count: int, since: str = "main") -> list[str]:
    return [f"{count} finding{'s' * (count > 1)} {'were' if count > 1 else 'was'} there already "
            f"at {since}"]  # fmt: skip


def error_of(capsys, *arguments: str) -> str:
    assert main(["audit", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("verax: error: ").removesuffix("\n")
