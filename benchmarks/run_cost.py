"""What `verax run` costs a program after its first step, and that it computes the same.

Each program runs bare and watched in turn, in a process of its own, with its own calls timed there.
The claim is about the steps after the first: what is compiled is dispatched without verax.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .timing import Claim, Effort, Fact, Outcome, Race

PROGRAMS = Path(__file__).parents[1] / "tests" / "audit" / "programs" / "classics"

# The digest is of all that the step returns, bit by bit.
_SCRIPT = """
import hashlib, json, sys, time
import jax, numpy as np
sys.path.insert(0, {folder!r})
import {name} as program

step = jax.jit(program.entry)
given = program.inputs()
start = time.process_time()
out = jax.block_until_ready(step(*given))
first = time.process_time() - start
calls = 0
start = time.process_time()
while calls < {least} or time.process_time() - start < {seconds}:
    jax.block_until_ready(step(*given))
    calls += 1
later = (time.process_time() - start) / calls
leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(out) if hasattr(leaf, "dtype")
          and not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended)]
digest = hashlib.sha256(b"".join(leaf.tobytes() for leaf in leaves)).hexdigest()
print(json.dumps({{"first": first, "later": later, "digest": digest}}))
"""


def timed(script: Path, *, watched: bool) -> dict[str, str | float]:
    """What a run of a script says of itself."""
    how = ["-m", "verax", "run", "-o", str(script.with_suffix(".txt"))] if watched else []
    command = [sys.executable, *how, str(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def run(effort: Effort) -> Iterator[Outcome]:
    rounds, least, seconds = (2, 3, 0.1) if effort.quick else (9, 20, 2.0)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ppo", "transformer", "molecular_dynamics"):
            script = Path(folder, f"run_{name}.py")
            values = {"folder": str(PROGRAMS), "name": name, "least": least, "seconds": seconds}
            script.write_text(_SCRIPT.format(**values))
            seen: dict[str, list[float]] = {"bare": [], "watched": []}
            digests: set[str] = set()
            for number in range(rounds):
                order = ("bare", "watched") if number % 2 else ("watched", "bare")
                for how in order:
                    done = timed(script, watched=how == "watched")
                    seen[how].append(float(done["later"]))
                    digests.add(str(done["digest"]))
            claim = Claim("watched", "bare", 1.05)
            yield Race(f"{name}, a step after the first", "bare", seen, (claim,), unit="step")
            yield Fact(f"{name}: results are equal bit by bit", len(digests) == 1)
