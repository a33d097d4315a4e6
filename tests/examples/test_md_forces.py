"""Forces and energies of the molecular dynamics example, beside those of ASE."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones as AseLennardJones

import verax
from examples.md.simulation import Settings, make_update, measure, start
from examples.md.state import State, with_room

# ASE 3.29 does this inside, which NumPy 2.5 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array")

# 2 cells a side, where a cell's neighbours coincide; 3, the least without; 4.
SYSTEMS = [
    Settings(atoms=200, temperature=0.7),
    Settings(atoms=800, density=0.5),
    Settings(atoms=1000, density=0.4, skin=0.5, seed=3),
]


def disordered(settings: Settings) -> State:
    """Atoms near the sites of a lattice, some outside the box, as in a run."""
    state = start(settings)
    noise = np.random.default_rng(settings.seed).normal(0, 0.08, state.position.shape)
    moved = np.asarray(state.position) + noise + np.where(noise > 0.2, float(state.box), 0)
    return jax.tree.map(
        lambda leaf: jnp.asarray(moved, leaf.dtype) if leaf is state.position else leaf, state
    )


def ours(settings: Settings, state: State, dtype: str) -> tuple[float, np.ndarray]:
    ample = with_room(state, 128, 333, 50_001)
    done = verax.propagate(make_update(settings), ample, 1).state
    assert done.force.dtype == dtype
    return float(measure(settings)(done)["potential"]), np.asarray(done.force)


def of_ase(settings: Settings, state: State) -> tuple[float, np.ndarray]:
    box = float(state.box)
    atoms = Atoms(
        f"Ar{settings.atoms}", np.asarray(state.position, float), cell=[box] * 3, pbc=True
    )
    atoms.calc = AseLennardJones(sigma=1, epsilon=1, rc=settings.cutoff, smooth=False)
    return atoms.get_potential_energy(), atoms.get_forces()


@pytest.mark.parametrize("settings", SYSTEMS, ids=lambda settings: f"{settings.atoms} atoms")
def test_forces_and_energy_are_those_of_ase(settings: Settings):
    with jax.enable_x64(True):
        state = disordered(settings)
        energy, force = ours(settings, state, "float64")
        expected_energy, expected_force = of_ase(settings, state)
    assert energy == pytest.approx(expected_energy, rel=1e-10)
    np.testing.assert_allclose(force, expected_force, rtol=1e-9, atol=1e-9)


def test_single_precision_is_as_good_as_it_can_be():
    settings = Settings(atoms=300, density=0.6)
    state = disordered(settings)
    energy, force = ours(settings, state, "float32")
    expected_energy, expected_force = of_ase(settings, state)
    assert energy == pytest.approx(expected_energy, rel=1e-5)
    np.testing.assert_allclose(force, expected_force, rtol=1e-5, atol=1e-5 * np.abs(force).max())


def test_an_atom_alone_feels_nothing():
    state = start(Settings(atoms=1, density=1e-3))
    energy, force = ours(Settings(), state, "float32")
    assert energy == 0
    assert not force.any()
