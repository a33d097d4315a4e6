"""The command line of the molecular dynamics example: what it writes, and what it says."""

import csv
import json
from pathlib import Path

import pytest

from examples.md.__main__ import main
from examples.md.run import Run

SYSTEM = "--atoms 300 --density 0.6 --ensemble langevin --time-step 0.004".split()


def test_a_run_leaves_energies_a_plot_and_repairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([*SYSTEM, "--steps", "60", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "step 0: cell_room 4 -> " in said
    with (tmp_path / "energies.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(0, 61, 10))
    for row in rows:
        total = float(row["potential"]) + float(row["kinetic"])
        assert float(row["total"]) == pytest.approx(total, abs=1e-3)
    assert (tmp_path / "energies.png").read_bytes().startswith(b"\x89PNG")
    first, *_ = json.loads((tmp_path / "repairs.json").read_text())
    assert first["step"] == 0
    assert first["messages"][0].startswith("capacity of state.neighbours.cell_room exceeded: ")
    assert {"where", "before", "after"} == first["changes"][0].keys()


MISTAKES = {
    "--atoms 10": "at this density take 165 atoms or more",
    "--atoms 0": "atoms must be positive, not 0",
    "--skin -1": "skin must be positive, not -1.0",
    "--density nan": "density must be positive, not nan",
    "--friction -1": "friction cannot be negative",
    "--ensemble npt": "ensemble is one of nve, langevin, not 'npt'",
    "--steps -1": "--steps cannot be negative",
    "--save-every 15": "--save-every 15 must be a multiple of --report-every 10",
    "--report-every 0": "--report-every must be at least 1",
    "--resume": "has no run to resume; leave out --resume",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line(
    mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([*mistake.split(), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert MISTAKES[mistake] in said
    assert said.count("\n") == 1


def test_what_is_no_number_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        main(["--atoms", "many", "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert "argument --atoms: invalid int value: 'many'" in capsys.readouterr().err


def test_a_folder_is_not_overwritten_and_a_run_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "settings.json").write_text('{"atoms": 300}')
    out = ["--out", str(tmp_path)]
    assert main(out) == 2
    assert "has a run already" in capsys.readouterr().err
    assert main([*out, "--resume", "--atoms", "500"]) == 2
    assert "has atoms 300 and cannot go on with 500" in capsys.readouterr().err
    (tmp_path / "settings.json").write_text('{"atoms": 3')
    assert main([*out, "--resume"]) == 2
    assert "settings.json cannot be read" in capsys.readouterr().err
    assert main(["--out", str(tmp_path / "settings.json")]) == 2
    assert "is a file, and must be a folder" in capsys.readouterr().err


def test_a_run_that_fails_ends_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise FloatingPointError("an atom would move by 7 in one step\n  asserted at ...")

    monkeypatch.setattr(Run, "advance", fail)
    assert main([*SYSTEM, "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "error: an atom would move by 7 in one step\n"
