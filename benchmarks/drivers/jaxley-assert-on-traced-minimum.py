"""The voltage of a neuron in which calcium diffuses, as a function of the diffusion constants."""

import jax.numpy as jnp
from stand_ins import old_jax, on_path, run, stand_in

clip = jnp.clip


def clip_of_old(x, a_min=None, a_max=None):
    """The names of its bounds when the checkout was written."""
    return clip(x, a_min, a_max)


old_jax()
on_path()
stand_in("jax.numpy", clip=clip_of_old)

import jaxley  # noqa: E402
from jaxley.channels import HH  # noqa: E402
from jaxley.pumps import CaNernstReversal, CaPump  # noqa: E402

branch = jaxley.Branch(jaxley.Compartment(), ncomp=3)
cell = jaxley.Cell([branch, branch], parents=[-1, 0])
cell.insert(HH())
cell.insert(CaPump())
cell.insert(CaNernstReversal())
cell.diffuse("CaCon_i")
cell.set("axial_diffusion_CaCon_i", 2.0)
cell.branch(1).comp(2).record("CaCon_i", verbose=False)
current = jaxley.step_current(i_delay=0.2, i_dur=0.5, i_amp=0.1, delta_t=0.025, t_max=1.0)
cell.branch(0).comp(0).stimulate(current, verbose=False)
cell.branch(0).make_trainable("axial_diffusion_CaCon_i", verbose=False)
cell.branch(1).make_trainable("axial_diffusion_CaCon_i", verbose=False)


def entry(params):
    return jaxley.integrate(cell, params=params, delta_t=0.025)


def inputs():
    params = cell.get_parameters()
    return ([{k: v * (1.5 + i) for k, v in p.items()} for i, p in enumerate(params)],)


if __name__ == "__main__":
    run(entry, inputs)
