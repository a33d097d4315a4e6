"""Recurrent cells of libraries: what they remember goes through their weights into the next turn.

None of them forgets by what it is given: an input can close a gate almost, and never altogether.
"""

from __future__ import annotations

_LINEN = "GRUCell LSTMCell OptimizedLSTMCell SimpleCell MGUCell ConvLSTMCell".split()

CELLS = frozenset(
    (
        *(f"{library}.{it}" for library in ("flax.linen", "flax.nnx") for it in _LINEN),
        *(f"equinox.nn.{it}" for it in ("GRUCell", "LSTMCell")),
        *(f"haiku.{it}" for it in ("GRU", "LSTM", "VanillaRNN", "Conv1DLSTM", "Conv2DLSTM")),
    )
)
# They give what they remember, and nothing else: a pair for a pair.
CELLS_OF_PAIRS = frozenset(("equinox.nn.LSTMCell",))
