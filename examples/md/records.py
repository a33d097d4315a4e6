"""What a run leaves behind: energies and repairs, as files and as a plot."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from verax import Repair

COLUMNS = ("step", "time", "potential", "kinetic", "total", "temperature")


@dataclass
class Records:
    """Rows of energies, and repairs as dictionaries: what JSON takes, for checkpoints."""

    energies: list[list[float]] = field(default_factory=list)
    repairs: list[dict[str, Any]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """`energies.csv` and `repairs.json`."""
        with (folder / "energies.csv").open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *self.energies])
        (folder / "repairs.json").write_text(json.dumps(self.repairs, indent=2) + "\n")

    def plot(self, folder: Path) -> None:
        """`energies.png`: how energies and temperature went."""
        # Imported late, and without pyplot: no window and no global figure.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 6), layout="constrained")
        FigureCanvasAgg(figure)
        above, below = figure.subplots(2, 1, sharex=True)
        columns = dict(zip(COLUMNS, zip(*self.energies, strict=True), strict=True))
        for name in ("potential", "kinetic", "total"):
            above.plot(columns["time"], columns[name], label=name)
        above.set_ylabel("energy")
        above.legend()
        below.plot(columns["time"], columns["temperature"])
        below.set(xlabel="time", ylabel="temperature")
        figure.savefig(folder / "energies.png", dpi=120)

    def note(self, repair: Repair, steps_before: int) -> None:
        """Note a repair when it happens: a run that is interrupted has no list at its end.

        Args:
            repair: What `propagate` tells.
            steps_before: How many steps were made before those that `propagate` counts.
        """
        step = steps_before + (repair.step or 0)
        changes = [asdict(change) for change in repair.changes]
        self.repairs.append({"step": step, "messages": list(repair.messages), "changes": changes})


def as_sentence(repair: dict[str, Any]) -> str:
    """A repair as a line to print. Sizes only: arrays follow them."""
    sizes = [change for change in repair["changes"] if isinstance(change["before"], int)]
    done = ", ".join(
        f"{change['where'].rpartition('.')[2]} {change['before']} -> {change['after']}"
        for change in sizes
    )
    return f"step {repair['step']}: {done}"
