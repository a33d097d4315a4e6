"""The one table from a function's name to its parameters and what it returns.

Names are those of the module a user reads about: "jax.numpy.mean", "jax.lax.top_k". Methods of
arrays are "ndarray.mean", their attributes "ndarray.T", Python's operators "operator.add".
"""

from . import (
    creating,
    elsewhere,
    joins,
    lax,
    nn,
    pointwise,
    products,
    random,
    rearranging,
    reductions,
    selecting,
    windows,
)
from .arguments import ArrayFunction
from .entries import Table
from .methods import methods
from .of_numpy import of_numpy

_JAX: Table = {
    **pointwise.TABLE,
    **reductions.TABLE,
    **rearranging.TABLE,
    **joins.TABLE,
    **creating.TABLE,
    **selecting.TABLE,
    **products.TABLE,
    **random.TABLE,
    **nn.TABLE,
    **lax.TABLE,
    **windows.TABLE,
    **elsewhere.TABLE,
}

TABLE: Table = {**_JAX, **methods(_JAX), **of_numpy(_JAX)}


def lookup(name: str) -> ArrayFunction | None:
    """The function of this name; None if nothing is known of it."""
    return TABLE.get(name)
