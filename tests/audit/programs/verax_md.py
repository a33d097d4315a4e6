"""A step of our own molecular dynamics: a thermostat, and neighbours that can overflow."""

from examples.md import simulation
from verax import as_result_function, propagate_and_fix

SETTINGS = simulation.Settings(atoms=512, ensemble="langevin")
STEP = simulation.make_step(SETTINGS)


def entry(state):
    return STEP(state)


def inputs():
    update = as_result_function(simulation.make_update(SETTINGS))
    state, _ = propagate_and_fix(update, simulation.start(SETTINGS))
    return (state,)
