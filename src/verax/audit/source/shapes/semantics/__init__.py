"""The one table from a function's name to its parameters and what it returns.

Names are those of the module a user reads about: "jax.numpy.mean", "jax.lax.top_k". Methods of
arrays are "ndarray.mean", their attributes "ndarray.T", Python's operators "operator.add".
"""

from . import (
    creating,
    densities,
    elsewhere,
    joins,
    lax,
    matrices,
    nn,
    pointwise,
    products,
    random,
    rearranging,
    reductions,
    selecting,
    signals,
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
    **matrices.TABLE,
    **signals.TABLE,
    **densities.TABLE,
    **random.TABLE,
    **nn.TABLE,
    **lax.TABLE,
    **windows.TABLE,
    **elsewhere.TABLE,
}

# Functions of one element of each argument: these meet by broadcasting.
ELEMENTWISE = frozenset((*pointwise.TABLE, *densities.ELEMENTWISE))

TABLE: Table = {**_JAX, **methods(_JAX), **of_numpy(_JAX)}


def lookup(name: str) -> ArrayFunction | None:
    """The function of this name; None if nothing is known of it."""
    return TABLE.get(name)
