"""How many steps of molecular dynamics a second `examples/md` makes, beside jax-md.

The same Lennard-Jones liquid, melted first; the same cutoff, skin and time step, and lists that
are rebuilt when an atom has moved by half the skin. jax-md takes part with two of its formats for
neighbours, with buffers a quarter larger than needed, as it sets by default. A call makes all
steps, so that the lists are rebuilt a few times in each.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import jax

import verax
from examples.md.simulation import Settings, make_step, make_update, start

from .timing import Claim, Effort, Outcome, race

MELTING = 300
STEPS = 50


def melted(settings: Settings) -> Any:
    """A liquid, with lists and buffers that have grown as needed."""
    state = verax.propagate(make_update(settings), start(settings), 1, progress=False).state
    return verax.propagate(make_step(settings), state, MELTING, progress=False).state


def by_verax(settings: Settings, state: Any) -> Callable[[], Any]:
    step = make_step(settings)

    def run() -> Any:
        return jax.block_until_ready(verax.propagate(step, state, STEPS, progress=False).state)

    return run


def by_hand(settings: Settings, state: Any) -> Callable[[], Any]:
    """The same step in a bare loop: what checking, and being able to repair, costs."""
    step = make_step(settings)
    loop = jax.jit(lambda state: jax.lax.fori_loop(0, STEPS, lambda _, s: step(s), state))
    return lambda: jax.block_until_ready(loop(state))


def by_jax_md(settings: Settings, state: Any, layout: str) -> Callable[[], Any]:
    from jax_md import energy, partition, simulate, space

    displacement, shift = space.periodic(float(state.box))
    list_fn, energy_fn = energy.lennard_jones_neighbor_list(
        displacement,
        float(state.box),
        r_onset=settings.cutoff - 0.5,
        r_cutoff=settings.cutoff,
        dr_threshold=settings.skin,
        format=partition.NeighborListFormat[layout],
    )
    init, apply = simulate.nve(energy_fn, shift, settings.time_step)
    position = state.position % state.box
    near = list_fn.allocate(position)
    begin = init(jax.random.key(0), position, kT=1.0, neighbor=near)
    begin = begin.set(momentum=state.velocity)

    @jax.jit
    def loop(state: Any, near: Any) -> Any:
        def body(_: Any, carry: Any) -> Any:
            state, near = carry
            near = near.update(state.position)
            return apply(state, neighbor=near), near

        return jax.lax.fori_loop(0, STEPS, body, (state, near))

    def run() -> Any:
        end, last = jax.block_until_ready(loop(begin, near))
        if last.did_buffer_overflow:
            raise RuntimeError("jax-md's list has overflowed, so its time is worth nothing")
        return end

    return run


def run(effort: Effort) -> Iterator[Outcome]:
    for atoms in (500,) if effort.quick else (500, 4000):
        settings = Settings(atoms=atoms)
        state = melted(settings)
        runs = {
            "examples/md, bare loop": by_hand(settings, state),
            "examples/md": by_verax(settings, state),
        }
        if importlib.util.find_spec("jax_md") is not None:
            for layout in ("Dense", "OrderedSparse"):
                runs[f"jax-md, {layout}"] = by_jax_md(settings, state, layout)
        claims = tuple(Claim("examples/md", name, 1.0) for name in runs if name.startswith("jax"))
        yield race(
            f"{atoms} atoms, {STEPS} steps",
            runs,
            effort,
            claims=claims,
            unit="step",
            units=STEPS,
            rounds=7,
        )
