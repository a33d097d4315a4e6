"""Set up the training of a wave function of the harmonic oscillator: weights and walkers."""
# ruff: noqa: E402

from stand_ins import blank, old_jax, on_path, package, run

old_jax()
on_path("src")
package("deepqmc", "src/deepqmc")
package("deepqmc.hamil", "src/deepqmc/hamil")
package("deepqmc.wf", "src/deepqmc/wf")
# What the oscillator does not need: molecules, second order, files.
blank("deepqmc.kfacext", "deepqmc.pretrain")
blank("h5py", "kfac_jax", "tensorboard", "uncertainties")

import haiku as hk
import jax.numpy as jnp
from deepqmc.hamil.qho import QHOHamiltonian
from deepqmc.sampling import MetropolisSampler
from deepqmc.train import train
from deepqmc.wf.qho import QHOAnsatz

hamil = QHOHamiltonian(dim=3, mass=1.3, nu=0.8)
ansatz = hk.without_apply_rng(hk.transform_with_state(lambda r: QHOAnsatz(hamil)(r)))


def entry(seed):
    # The loops over steps read numbers on the host, which a traced function cannot.
    return train(
        hamil,
        ansatz,
        "adam",
        MetropolisSampler(hamil),
        steps=0,
        max_eq_steps=0,
        sample_size=5,
        seed=seed,
    )


def inputs():
    return (jnp.asarray(7),)


if __name__ == "__main__":
    run(entry, inputs)
