"""The voltage equations of a cell with a root branch and two children, solved branch by branch."""

import jax
import jax.numpy as jnp
from stand_ins import on_path, run, stand_in
from tridiax import thomas

on_path()
# The names these functions had in the releases of tridiax of that time.
stand_in(
    "tridiax.thomas",
    thomas_triang=thomas.thomas_triang_lower,
    thomas_backsub=thomas.thomas_backsub_upper,
)

from neurax.solver import solve_branched  # noqa: E402

# The root has no parent; the solver says so with its own index.
PARENTS = (-1, 0, 0)
AXES = {
    "lowers": ("branch", "edge"),
    "diags": ("branch", "compartment"),
    "uppers": ("branch", "edge"),
    "solves": ("branch", "compartment"),
}


def entry(lowers, diags, uppers, solves, branch_cond):
    return solve_branched(jnp.asarray(PARENTS), lowers, diags, uppers, solves, branch_cond)


def inputs():
    keys = jax.random.split(jax.random.key(0), 4)
    return (
        -jax.random.uniform(keys[0], (3, 4), minval=0.2, maxval=0.6),
        jax.random.uniform(keys[1], (3, 5), minval=2.0, maxval=3.0),
        -jax.random.uniform(keys[2], (3, 4), minval=0.2, maxval=0.6),
        jax.random.normal(keys[3], (3, 5)),
        jnp.asarray(0.3),
    )


if __name__ == "__main__":
    run(entry, inputs)
