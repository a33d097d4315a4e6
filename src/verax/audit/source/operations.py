"""Operations that mean the same, by the names under which the graph of values knows them."""

from __future__ import annotations

# Functions that compute what an operator does, by the operator's name: nobody has to know both.
_OPERATORS = {
    "+": "jax.numpy.add numpy.add jax.lax.add",
    "-": "jax.numpy.subtract numpy.subtract jax.lax.sub",
    "*": "jax.numpy.multiply numpy.multiply jax.lax.mul",
    "/": "jax.numpy.divide jax.numpy.true_divide numpy.divide numpy.true_divide jax.lax.div",
    "//": "jax.numpy.floor_divide numpy.floor_divide",
    "%": "jax.numpy.mod jax.numpy.remainder numpy.mod numpy.remainder",
    "**": "jax.numpy.power jax.numpy.pow numpy.power jax.lax.pow jax.lax.integer_pow",
    "@": "jax.numpy.matmul numpy.matmul",
    "<": "jax.numpy.less numpy.less jax.lax.lt",
    "<=": "jax.numpy.less_equal numpy.less_equal jax.lax.le",
    ">": "jax.numpy.greater numpy.greater jax.lax.gt",
    ">=": "jax.numpy.greater_equal numpy.greater_equal jax.lax.ge",
    "==": "jax.numpy.equal numpy.equal jax.lax.eq",
    "!=": "jax.numpy.not_equal numpy.not_equal jax.lax.ne",
    "-x": "jax.numpy.negative numpy.negative jax.lax.neg",
    # Of flags, which are what one negates.
    "~x": "jax.numpy.logical_not numpy.logical_not jax.numpy.invert jax.numpy.bitwise_not "
    "jax.lax.bitwise_not",
}
_OPERATOR_OF = {name: symbol for symbol, names in _OPERATORS.items() for name in names.split()}


def operation_of(function: str, count: int) -> str:
    """The name under which the graph knows what a function makes of a number of operands."""
    symbol = _OPERATOR_OF.get(function)
    return (
        symbol if symbol is not None and count == (1 if symbol.endswith("x") else 2) else function
    )


COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
# Between two values, element by element.
SELECTIONS = frozenset(("jax.numpy.where", "jax.lax.select"))
# Of flags, which may be numbers.
OR = frozenset(("|", "jax.numpy.logical_or", "jax.numpy.bitwise_or", "jax.numpy.maximum"))
AND = frozenset(("*", "&", "jax.numpy.logical_and", "jax.numpy.bitwise_and", "jax.numpy.minimum"))
