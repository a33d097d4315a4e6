"""JAX's transformations with names and types kept, and guards around them.

Each wrapper does what JAX's function of that name does. What is wrapped keeps its name, its
docstring and, for a type checker, its signature.
"""

from ._guards import NotJaxCompatibleError as NotJaxCompatibleError
from ._guards import is_traced as is_traced
from ._guards import no_jax_tracing as no_jax_tracing
from ._linearize import linearize as linearize
from ._non_differentiable import non_differentiable as non_differentiable
from ._sequential import sequential_vmap_with_vjp as sequential_vmap_with_vjp
from ._wrappers import jit as jit
from ._wrappers import shard_map as shard_map
from ._wrappers import vectorize as vectorize
