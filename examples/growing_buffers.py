"""Disks gather in a bowl; the buffer for pairs in contact overflows, is repaired, and grows.

Compiled code has fixed sizes, so a step that finds its contacts needs a buffer of a length chosen
beforehand. When the buffer is too short, JAX drops what does not fit and says nothing.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

import verax

DISKS, DIAMETER, STEPS = 48, 0.5, 100


@verax.dataclass
class State:
    position: Array  # (disk, xy)
    room: int = verax.field(static=True)  # for how many pairs the buffer is compiled


def grow(state: State, needed: Array) -> State:
    """The repair, applied on the host: the next power of two that is large enough."""
    return replace(state, room=1 << (int(needed) - 1).bit_length())


def step(state: State) -> State:
    """Roll towards the centre; push those apart that touch."""
    apart = state.position[:, None] - state.position[None, :]
    distance = jnp.sqrt(jnp.sum(apart**2, axis=-1) + 1e-12)
    touching = jnp.triu(distance < DIAMETER, k=1)

    found = jnp.sum(touching)
    verax.runtime_assert(
        found <= state.room,
        "{found} pairs touch, but the buffer has room for {room}",
        fmt_args={"found": found, "room": state.room},
        fix_fn=grow,
        fix_args=found,
    )

    # The buffer: pairs beyond its length are cut off, unused places point to no disk.
    first, second = jnp.nonzero(touching, size=state.room, fill_value=DISKS)
    spring = apart * (DIAMETER / distance - 1)[:, :, None]
    push = 0.4 * spring.at[first, second].get(mode="fill", fill_value=0)
    position = 0.98 * state.position
    position = position.at[first].add(push, mode="drop").at[second].add(-push, mode="drop")
    return replace(state, position=position)


def overlap(state: State) -> str:
    """How deep two disks sit in each other, at worst."""
    distance = jnp.linalg.norm(state.position[:, None] - state.position[None, :], axis=-1)
    nearest = jnp.min(distance, where=~jnp.eye(DISKS, dtype=bool), initial=DIAMETER)
    return f"disks overlap by up to {1 - nearest / DIAMETER:.0%}"


def main() -> None:
    start = State(4 * jax.random.normal(jax.random.key(0), (DISKS, 2)), room=4)
    print(
        f"{DISKS} disks gather in a bowl. The buffer for pairs that touch starts with room for 4."
    )

    state = start
    for _ in range(STEPS):
        state = jax.jit(step)(state)
    print(f"\njax.jit alone\n  {STEPS} steps, no error; {overlap(state)}")

    run = verax.propagate(step, start, STEPS)
    print("\nwith verax, a step that fails is repaired and runs again")
    for repair in run.repairs:
        print(f"  {repair}")
    print(f"  {run.steps} steps, none lost; {overlap(run.state)}")

    ample = verax.propagate(step, replace(start, room=DISKS**2), STEPS)
    same = bool(jnp.all(ample.state.position == run.state.position))
    print(f"  bit for bit the run that had ample room from the start: {'yes' if same else 'no'}")


if __name__ == "__main__":
    main()
