"""Gradient of a neural wave function with an additive backflow, for several electron positions."""
# ruff: noqa: E402

from types import SimpleNamespace

from stand_ins import old_jax, on_path, package, run, stand_in

old_jax()
on_path("src")
package("deepqmc", "src/deepqmc")

from flax import struct

stand_in("jax_dataclasses", pytree_dataclass=struct.dataclass)

import haiku as hk
import jax
import jax.numpy as jnp
from deepqmc.types import PhysicalConfiguration
from deepqmc.wf import NeuralNetworkWaveFunction
from deepqmc.wf.nn_wave_function.env import ExponentialEnvelopes
from deepqmc.wf.nn_wave_function.nn_wave_function import BackflowOp

AXES = {"r": "sample electron xyz"}

UP, DOWN, DETERMINANTS = 3, 2, 4
NUCLEI = jnp.array([[0.0, 0.0, -0.7], [0.0, 0.0, 0.9]])

# What the wave function asks of a molecule: here boron with a bare charge beside it.
molecule = SimpleNamespace(
    charges=jnp.array([4, 1]), n_up=UP, n_down=DOWN, n_shells=(2, 1), n_pp_shells=(0, 0)
)


class Omni(hk.Module):
    """A small network from each electron's place to its change of the orbitals."""

    def __init__(self, mol, n_up, n_down, n_determinants, n_backflow):
        super().__init__()
        self.widths = [n_up, n_down]
        self.sizes = [n_determinants, n_backflow]

    def __call__(self, phys_conf):
        determinants, kinds = self.sizes
        changes = []
        for rs, width in zip(jnp.split(phys_conf.r, [self.widths[0]]), self.widths, strict=True):
            x = hk.nets.MLP([8, width * determinants * kinds], activation=jnp.tanh)(rs)
            changes.append(x.reshape(-1, width, determinants, kinds).transpose(3, 2, 0, 1))
        return None, changes


@hk.without_apply_rng
@hk.transform
def wave_function(phys_conf):
    return NeuralNetworkWaveFunction(
        SimpleNamespace(mol=molecule),
        omni_factory=Omni,
        envelope=lambda mol, n_determinants: ExponentialEnvelopes(
            mol,
            n_determinants,
            isotropic=True,
            per_shell=True,
            per_orbital_exponent=False,
            spin_restricted=False,
        ),
        backflow_op=BackflowOp,
        n_determinants=DETERMINANTS,
        full_determinant=False,
        cusp_electrons=False,
        cusp_alpha=10.0,
        backflow_transform="add",
        conf_coeff=lambda size, name: hk.Linear(size, with_bias=False, name=name),
    )(phys_conf)


def entry(params, r):
    def log_psi(r):
        return wave_function.apply(params, PhysicalConfiguration(NUCLEI, r, 0)).log

    return jax.vmap(jax.value_and_grad(log_psi))(r)


def inputs():
    weights, places = jax.random.split(jax.random.key(0))
    r = 0.5 * jax.random.normal(places, (6, UP + DOWN, 3))
    return wave_function.init(weights, PhysicalConfiguration(NUCLEI, r[0], 0)), r


if __name__ == "__main__":
    run(entry, inputs)
