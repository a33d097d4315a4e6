"""Operations that mean the same, by the names under which the graph of values knows them."""

from __future__ import annotations

COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
# Between two values, element by element.
SELECTIONS = frozenset(("jax.numpy.where", "jax.lax.select"))
# Of flags, which may be numbers.
OR = frozenset(("|", "jax.numpy.logical_or", "jax.numpy.bitwise_or", "jax.numpy.maximum"))
AND = frozenset(("*", "&", "jax.numpy.logical_and", "jax.numpy.bitwise_and", "jax.numpy.minimum"))
