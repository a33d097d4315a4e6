"""Advance a heated plasma by a fixed time, in steps that the solver may refuse."""
# ruff: noqa: E402

from types import SimpleNamespace

from stand_ins import blank, on_path, package, run, stand_in

on_path()
package("torax", "torax")
package("torax._src", "torax/_src")
package("torax._src.orchestration", "torax/_src/orchestration")
# Only types are taken from these modules.
for module in """
    config.build_runtime_params config.runtime_params core_profiles.updaters edge.base
    geometry.geometry geometry.geometry_provider mhd.sawtooth.sawtooth_solver
    orchestration.adaptive_step orchestration.sawtooth_step orchestration.sim_state
    orchestration.step_function_processing orchestration.whilei_loop output_tools.post_processing
    solver.solver sources.source_profiles state time_step_calculator.time_step_calculator
""".split():
    folder = module.split(".")[0]
    blank(f"torax._src.{module if folder == 'orchestration' else folder}")
    stand_in(f"torax._src.{module}")

import jax
import jax.numpy as jnp
from flax import struct
from torax._src.orchestration.step_function import SimulationStepFn

AXES = {"temperature": "plasma radius"}


@struct.dataclass
class Outputs:
    solver_error_state: jax.Array


@struct.dataclass
class State:
    t: jax.Array
    dt: jax.Array
    temperature: jax.Array
    solver_numeric_outputs: Outputs


class HeatedPlasma(SimulationStepFn):
    """A step of diffusion and heating; its solver fails above a temperature."""

    def __init__(self):
        self._runtime_params_provider = SimpleNamespace(numerics=SimpleNamespace(adaptive_dt=True))

    def __call__(self, state, post_processed, *, max_dt, **overrides):
        dt = jnp.minimum(max_dt, 0.15)
        x = state.temperature
        x = x + dt * (jnp.gradient(jnp.gradient(x)) + 0.5 * x)
        failed = jnp.where(jnp.max(x) > 4.0, 1, 0)
        state = State(t=state.t + dt, dt=dt, temperature=x, solver_numeric_outputs=Outputs(failed))
        return state, {"energy": jnp.sum(x)}


simulation = HeatedPlasma()


def entry(temperature, dt):
    def advance(temperature):
        state = State(
            t=jnp.asarray(2.0),
            dt=jnp.asarray(0.0),
            temperature=temperature,
            solver_numeric_outputs=Outputs(jnp.asarray(0)),
        )
        return simulation.fixed_time_step(dt, state, {"energy": jnp.sum(temperature)})

    return jax.vmap(advance)(temperature)


def inputs():
    radius = jnp.linspace(0.0, 1.0, 5)
    return jnp.array([1.2, 3.7, 0.6])[:, None] * (1.3 - radius**2), jnp.asarray(0.8)


if __name__ == "__main__":
    run(entry, inputs)
