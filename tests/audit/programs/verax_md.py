"""A step of our own molecular dynamics: a thermostat, and neighbours that can overflow."""

from examples.md import simulation
from verax import propagate_and_fix

SETTINGS = simulation.Settings(atoms=512, ensemble="langevin")
STEP = simulation.make_step(SETTINGS)


def entry(state):
    return STEP(state)


def inputs():
    state = simulation.start(SETTINGS)
    return (propagate_and_fix(simulation.make_update(SETTINGS), state),)
