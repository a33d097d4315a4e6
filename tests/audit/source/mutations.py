"""Real files, which nobody wrote for a test, and what may become of them."""

import json
from pathlib import Path

import hypothesis
import jax
import numpy
from hypothesis import strategies as st

_PACKAGES = [Path(module.__file__ or "").parent for module in (json, hypothesis, numpy, jax)]
REAL_FILES = sorted(
    path for folder in _PACKAGES for path in folder.glob("*.py") if path.stat().st_size < 40_000
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real file with bytes changed, lines moved, and pieces cut out."""
    data = bytearray(draw(st.sampled_from(REAL_FILES)).read_bytes() or b"x")
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        kind = draw(st.sampled_from(["set", "cut", "insert", "double", "swap"]))
        if kind == "set" and data:
            data[at] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[at : at + draw(st.integers(1, 200))]
        elif kind == "insert":
            data[at:at] = draw(
                st.binary(max_size=8) | st.sampled_from([b"(" * 300, b"\n%x\n", b"'''"])
            )
        elif kind == "double":
            data[at:at] = data[at : at + 300]
        else:
            lines = data.split(b"\n")
            lines.insert(at % len(lines), lines.pop(draw(st.integers(0, len(lines) - 1))))
            data = bytearray(b"\n".join(lines))
    return bytes(data)


assert len(REAL_FILES) > 20
