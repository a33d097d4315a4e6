"""Run a program twice, bare and watched, and compare what others see of it."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import verax

ROOT = Path(verax.__file__).parents[1]


@dataclass
class Both:
    """What a bare run and a watched one did; `report` is what verax says of it."""

    stdout: str
    code: int
    report: dict[str, Any]
    stderr: str = ""
    files: dict[str, bytes] = field(default_factory=dict)

    def codes(self) -> set[str]:
        return {it["code"] for it in (*self.report["issues"], *self.report["warnings"])}

    def seen(self) -> list[str]:
        return [it["name"] for it in self.report["compiled"]]


def environment() -> dict[str, str]:
    """Devices and settings are a program's own affair here, not the suite's."""
    inherited = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    return inherited | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}


def execute(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def run_both(tmp_path: Path) -> Callable[..., Both]:
    """Write files, run one of them bare and watched; both have to do the same."""

    def run(
        files: dict[str, str],
        *program: str,
        options: Sequence[str] = (),
        compare_stderr: bool = False,
    ) -> Both:
        folders = [tmp_path / name / "program" for name in ("bare", "watched")]
        for folder in folders:
            for name, text in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(textwrap.dedent(text))
        written = tmp_path / "report.json"
        bare = execute(program, folders[0])
        how = ["-m", "verax", "run", *options, "--format", "json", "-o", str(written)]
        watched = execute([*how, *program], folders[1])
        assert watched.stdout == bare.stdout
        assert watched.returncode == bare.returncode, watched.stderr
        made = [
            {
                str(it.relative_to(folder)): it.read_bytes()
                for it in sorted(folder.rglob("*"))
                if it.is_file() and not {"__pycache__", ".verax"} & {*it.parts}
            }
            for folder in folders
        ]
        assert made[0] == made[1]
        if compare_stderr:
            assert watched.stderr == bare.stderr.replace(str(folders[0]), str(folders[1]))
        report = json.loads(written.read_text()) if written.exists() else {}
        return Both(bare.stdout, bare.returncode, report, watched.stderr, made[1])

    return run
