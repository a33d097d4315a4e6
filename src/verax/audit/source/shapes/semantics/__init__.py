"""The one table from a function's name to its parameters and what it returns.

Names are those of the module a user reads about: "jax.numpy.mean", "jax.lax.top_k". Methods of
arrays are "ndarray.mean", Python's operators "operator.add".
"""

from . import pointwise, reductions
from .arguments import ArrayFunction
from .entries import Table

TABLE: Table = {**pointwise.TABLE, **reductions.TABLE}


def lookup(name: str) -> ArrayFunction | None:
    """The function of this name; None if nothing is known of it."""
    return TABLE.get(name)
