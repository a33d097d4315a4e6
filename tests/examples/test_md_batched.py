"""Several systems at once, with the code for one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

import verax
from examples.md.simulation import Settings, make_step, make_update, start
from examples.md.state import State, with_room
from verax.state import tree_stack

SETTINGS = Settings(atoms=300, density=0.6, ensemble="langevin", time_step=0.004)
STEPS = 50


def system(number: int, cell_room: int) -> State:
    """Of its own temperature and noise, with room that is ample but perhaps for a cell's."""
    settings = replace(SETTINGS, seed=number, temperature=0.6 + 0.1 * number)
    return with_room(start(settings), cell_room, 333, 50_001)


def run_together(count: int, lift: Callable[[Any], Any]) -> State:
    """Systems that must be repaired first. `lift` makes a step of one to a step of all."""
    batch = tree_stack(*[system(number, cell_room=32) for number in range(count)])
    begin = verax.propagate(lift(make_update(SETTINGS, "systems")), batch, 1)
    (repair,) = begin.repairs
    (change,) = repair.changes
    assert str(change) == "state.neighbours.cell_room: 32 -> 128"
    return verax.propagate(lift(make_step(SETTINGS, "systems")), begin.state, STEPS).state


def assert_lane_is_as_alone(lane: int, batch: State) -> None:
    begin = verax.propagate(make_update(SETTINGS), system(lane, cell_room=128), 1).state
    alone = verax.propagate(make_step(SETTINGS), begin, STEPS).state
    # Lists are rebuilt at other moments than alone, which sums forces in another order.
    np.testing.assert_allclose(batch.velocity[lane], alone.velocity, atol=2e-3)
    keys = jax.random.key_data(batch.key[lane]), jax.random.key_data(alone.key)
    np.testing.assert_array_equal(*keys)


def in_lanes(step: Any) -> Any:
    return jax.vmap(step, axis_name="systems")


def test_systems_in_lanes_go_their_own_ways():
    batch = run_together(3, in_lanes)
    assert batch.position.shape == (3, 300, 3)
    assert_lane_is_as_alone(2, batch)


def test_systems_on_devices_go_their_own_ways():
    mesh, spec = Mesh(np.array(jax.devices()), "device"), PartitionSpec("device")

    def on_devices(step: Any) -> Any:
        # With check_vma, JAX 0.8 to 0.12 cannot compile a collective over an axis of a vmap inside:
        # `shard_map(vmap(lambda x: lax.pmax(x, "systems"), axis_name="systems"), ...)` alone fails.
        return jax.shard_map(
            in_lanes(step), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
        )

    batch = run_together(8, on_devices)
    assert len(batch.position.sharding.device_set) == 8
    assert_lane_is_as_alone(5, batch)
