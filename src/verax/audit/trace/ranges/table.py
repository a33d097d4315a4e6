"""The rules of all groups, by primitive, and which primitives have none on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import arithmetic, choices, functions, reductions, structural

if TYPE_CHECKING:
    from .analysis import Rule

RULES: dict[str, Rule] = {
    **functions.RULES,
    **arithmetic.RULES,
    **choices.RULES,
    **reductions.RULES,
    **structural.RULES,
}

# Steps with bodies are followed into them, whatever their name is.
FOLLOWED = frozenset(
    """call closed_call cond custom_jvp_call custom_vjp_call jit remat2 checkpoint scan while
    shard_map xla_pmap region derivative core_call composite custom_vmap_call eval_jaxpr
    """.split()
)

# Of these nothing is known beyond the dtype: results are complex numbers, keys, factors of
# matrices, special functions that are rare in the programs which we audit.
UNBOUNDED = frozenset(
    """after_all bessel_i0e bessel_i1e cholesky complex conj create_token custom_lin
    custom_linear_solve digamma eig eigh empty2 fft get hessenberg householder_product igamma
    igamma_grad_a igammac imag lgamma lu nextafter polygamma polynomial psum qr ragged_all_to_all
    random_fold_in random_seed random_split reduce reduce_precision reduce_window
    regularized_incomplete_beta rng_bit_generator rng_uniform scatter-mul scatter_mul schur
    select_and_gather_add select_and_scatter select_and_scatter_add svd swap tan threefry2x32
    triangular_solve tridiagonal tridiagonal_solve zeta
    """.split()
)
