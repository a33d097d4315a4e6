"""A neuron of two branches, simulated for longer than the current that is injected."""

import jax.numpy as jnp
from stand_ins import old_jax, on_path, run, stand_in
from tridiax import stone, thomas

old_jax()
on_path()
# The names these functions had in the releases of tridiax of that time.
stand_in(
    "tridiax.thomas",
    thomas_triang=thomas.thomas_triang_lower,
    thomas_backsub=thomas.thomas_backsub_upper,
)
stand_in(
    "tridiax.stone",
    stone_triang=stone.stone_triang_lower,
    stone_backsub=stone.stone_backsub_upper,
)

import jaxley  # noqa: E402
from jaxley.channels import HH  # noqa: E402

STEP, DURATION, CURRENT_STEPS = 0.025, 2.0, 50
AXES = {"current": ("time",)}


branch = jaxley.Branch(jaxley.Compartment(), nseg=3)
cell = jaxley.Cell([branch, branch], parents=[-1, 0])
cell.insert(HH())
cell.branch(1).comp(1.0).record()


def entry(current):
    stimuli = cell.branch(0).comp(0.0).data_stimulate(current, None)
    return jaxley.integrate(
        cell, data_stimuli=stimuli, delta_t=STEP, t_max=DURATION, tridiag_solver="thomas"
    )


def inputs():
    return (0.1 + 0.05 * jnp.sin(jnp.arange(CURRENT_STEPS) / 7),)


if __name__ == "__main__":
    run(entry, inputs)
