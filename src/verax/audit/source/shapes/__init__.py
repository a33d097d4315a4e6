"""Symbolic shapes and types of arrays, and what JAX's functions do to them.

Nothing here imports JAX or NumPy, and nothing guesses: what is not known is `None` (a size, a
shape, a dtype) or `UNKNOWN` (a constant), and functions raise `Mismatch` only where JAX would fail.

- `dims`: sizes; `add(symbol("n"), 1)`, `same(a, b)`.
- `shape`: `(symbol("b"), 3)`, `Partial(lead, trail)` for an unknown rank, `broadcast`, `reduce`.
- `axes`, `reshaping`, `joining`, `indexing`, `contraction`, `creation`: the other operations.
- `dtypes`: names such as "float32", weak ones with a star, `promote`.
- `substitution`: the shapes of a callee in terms of a caller.
- `semantics`: the table of functions by name.

A call of a function in the table takes anything with the four attributes of `Arg`, for which
`Value` will do:

    >>> from verax.audit.source.shapes import Value, lookup, symbol
    >>> x = Value(shape=(symbol("b"), symbol("t"), 3), dtype="float32")
    >>> lookup("jax.numpy.mean")([x], {"axis": Value((), "int32*", constant=1)})
    Value(shape=(b, 3), dtype='float32', constant=UNKNOWN, elements=None)

`shape` and `dtype` describe an array (a Python number has the shape `()` and a weak dtype).
`constant` is the Python value where it is known: a number, a string, None, a `Size` for an integer
such as `x.shape[0]`, the name of a dtype ("float32", "jax.numpy.float32"), or a tuple of these.
`elements` are the items of a list or tuple: `jnp.stack([a, b])` has one argument with two
elements, and functions that return several arrays return a `Value` with elements. Arguments that
are left out are not passed; of `*args` and `**kwargs` that cannot be followed, do not ask.
"""

from .dims import Dim as Dim
from .dims import Size as Size
from .dims import symbol as symbol
from .dtypes import DType as DType
from .semantics import lookup as lookup
from .semantics.arguments import ArrayFunction as ArrayFunction
from .shape import Mismatch as Mismatch
from .shape import Partial as Partial
from .shape import Shape as Shape
from .values import UNKNOWN as UNKNOWN
from .values import Arg as Arg
from .values import Value as Value
