"""Random losses of several terms, and which of them lose a gradient when they run.

A term loses the gradient of a parameter if it changes with the parameter, and its derivative is
zero wherever one looks: at `argmax`, rounding, a comparison. Behind `stop_gradient` nothing may
change: there, all perturbed runs take the number of the one that is not perturbed.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

HEADER = """\
import jax
import jax.numpy as jnp
from jax import vmap
from jax.lax import cond, fori_loop, scan, stop_gradient


@jax.custom_vjp
def scaled(a, c):
    return a * c


@jax.custom_vjp
def gated(a, c):
    return a * c


scaled.defvjp(lambda a, c: (a * c, (a, c)), lambda kept, g: (g * kept[1], g * kept[0]))
gated.defvjp(lambda a, c: (a * c, (a, c)), lambda kept, g: (g * kept[1], 0 * g * kept[0]))


"""
FOOTER = """

def loss(w, v, b, x):
    return sum(terms(w, v, b, x))


def entry(w, v, b, x):
    return jax.grad(loss, argnums=(0, 1, 2))(w, v, b, x)


def inputs():
    return jnp.ones(3), jnp.ones(3), jnp.float32(1), jnp.ones(3)
"""
_PARAMETERS = 3
_DISTANCES = (-2.0, -0.7, 0.4, 1.1, 3.0)
_SEEDS = (0, 1)


def loses_gradient(program: str) -> str:
    """Which term of a program loses the gradient of which parameter; empty if none does."""
    derivative = jax.jit(jax.vmap(jax.jacrev(_terms(program), argnums=(0, 1, 2))))
    unmoved = lambda x: jax.lax.all_gather(x, "run")[0]  # noqa: E731
    values = jax.jit(jax.vmap(_terms(program, stop_gradient=unmoved), axis_name="run"))
    changed, trained = [], []
    for seed in _SEEDS:
        points = _points(seed)
        terms = np.asarray(values(*points))
        slopes = [np.asarray(it).reshape(*terms.shape, -1) for it in derivative(*points)]
        moves = np.abs(terms[1:] - terms[0]).reshape(_PARAMETERS, len(_DISTANCES), -1)
        changed.append(moves.max(axis=1) > 1e-3)
        trained.append([np.abs(it).max(axis=(0, 2)) > 1e-6 for it in slopes])
    lost = np.any(changed, axis=0) & ~np.any(trained, axis=0)
    if lost.any():
        parameter, term = np.argwhere(lost)[0]
        return f"term {term} loses the gradient of parameter {parameter}"
    # Over all points, the gradients of two terms do not cancel unless they always do.
    untrained = [it for it in range(_PARAMETERS) if not np.any(trained, axis=0)[it].any()]
    return f"parameters {untrained} are not trained" if untrained else ""


def _terms(program: str, **replaced: Any) -> Any:
    names: dict[str, Any] = {}
    exec(HEADER + program, names)
    names |= replaced
    return lambda *args: jnp.stack(names["terms"](*args))


def _points(seed: int) -> list[jax.Array]:
    """A point, and others that lie some way off along one of the parameters."""
    rng = np.random.default_rng(seed)
    base = [rng.normal(size=shape) for shape in ((3,), (3,), (), (3,))]
    runs = [base]
    for parameter in range(_PARAMETERS):
        way = rng.normal(size=base[parameter].shape)
        way = way + np.sign(way) * 0.5
        for distance in _DISTANCES:
            moved = list(base)
            moved[parameter] = base[parameter] + distance * way
            runs.append(moved)
    return [jnp.asarray(np.stack(it), jnp.float32) for it in zip(*runs, strict=True)]


_SMOOTH = """
jnp.tanh({a}) | jnp.square({a}) | jnp.sin({a}) | jax.nn.softmax({a}) | {a} + {c} | {a} * {c}
{a} - {c} | 0.5 * {a} | jnp.sort({a}) | jnp.maximum({a}, {c}) | jnp.where({c} > 0, {a}, {c})
jnp.where({a} > 0, {a}, 0.1 * {a}) | {a}[jnp.argmax({a})] * {c} | {a} * stop_gradient({c})
scaled({a}, {c}) | vmap(lambda e: e * jnp.sum({c}))({a}) | jnp.cumsum({a}) | jax.nn.silu({a})
{a} + stop_gradient(jnp.round({a}) - {a}) | fori_loop(0, 2, lambda i, y: jnp.tanh(y + {c}), {a})
scan(lambda y, e: (y + e, y * e), jnp.float32(1), {a})[1] | jax.nn.log_softmax({a})
cond(jnp.sum({c}) > 0, jnp.tanh, jnp.sin, {a}) | {a}[::-1] | jnp.stack([{a}[1], {c}[0], {a}[2]])
"""
_FLAT = """
jnp.round(2 * {a}) | jnp.floor({a}) | jnp.sign({a}) | jnp.where({a} > 0, 1.0, 0.0) | 0.0 * {a}
jax.nn.one_hot(jnp.argmax({a}), 3) | (3 * {a}).astype(int).astype(jnp.float32) | {a} - {a}
{c}[jnp.argsort({a})] | jnp.argsort({a}) * 0.5 | stop_gradient({a}) | gated({c}, {a})
fori_loop(0, 2, lambda i, y: jnp.floor(y), {a}) | vmap(lambda e: jnp.floor(e))({a})
scan(lambda y, e: (y, jnp.sign(e) * y), jnp.float32(1), {a})[1] | ({a} > {c}).astype(jnp.float32)
cond(jnp.sum({a}) > 0, lambda y: y, lambda y: 2 * y, {c})
"""
# These are made of `a`, and the same whatever it is.
FIXED = """
jax.nn.softmax({a}[:1]) * {c} | jax.nn.log_softmax({a}[:1]) + {c} | {a}.at[:].set({c})
jnp.sum(jax.nn.softmax({a})) * {c} | jnp.clip(jax.nn.sigmoid({a}), 2.0, 3.0)
jax.nn.relu(-jnp.exp({a})) | jnp.mean({a} - jnp.mean({a})) + {c} | jnp.power({a}, 0.0) * {c}
jnp.where(jnp.arange(3) > 7, {a}, {c}) | jnp.tril({a}[None], -9)[0] + {c}
scan(lambda y, e: (e, None), {a}[0], {c})[0] * {c} | fori_loop(0, 0, lambda i, y: y + {a}, {c})
cond(jnp.array(True), lambda: {c}, lambda: {a}) | jnp.sum({a}[3:]) + {c}
{a}.at[jnp.arange(3)].set({c}) | jnp.minimum(jnp.maximum({a}, 3.0), 2.0) | jnp.zeros((3, 3)) @ {a}
"""


def listed(text: str) -> list[str]:
    return [it.strip() for line in text.strip().splitlines() for it in line.split(" | ")]


@st.composite
def losses(draw: st.DrawFn) -> str:
    """The text of a function of three parameters and data that returns the terms of a loss."""
    vectors = ["w", "v", "x", "b * x"]
    lines = ["def terms(w, v, b, x):"]
    for number in range(draw(st.integers(1, 5))):
        ways = listed((_SMOOTH, _SMOOTH, _SMOOTH, _SMOOTH, _FLAT, FIXED)[draw(st.integers(0, 5))])
        a, c = (draw(st.sampled_from(vectors)) for _ in "ac")
        text = draw(st.sampled_from(ways)).format(a=f"({a})" if " " in a else a, c=f"({c})")
        lines.append(f"    y{number} = {text}")
        vectors += [f"y{number}"] * 2
    # Mostly with a term that trains every parameter, whatever the others do.
    terms = ["jnp.sum(w * v) * b"] if draw(st.integers(0, 4)) < 4 else []
    sums = ("jnp.sum({})", "jnp.mean({} ** 2)", "jnp.max({})", "b * {}[0]", "jnp.sum(w * {})")
    for _ in range(draw(st.integers(1, 2))):
        terms.append(draw(st.sampled_from(sums)).format(f"({draw(st.sampled_from(vectors))})"))
    return "\n".join([*lines, f"    return [{', '.join(terms)}]"])
