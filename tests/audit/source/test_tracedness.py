"""What the interpreter takes for a tracer is one: each program is read, and then run by JAX.

A program asks Python for a truth value in one place. Reading it has to find that exactly where
running it raises.
"""

from __future__ import annotations

import textwrap

import jax
import pytest

from verax.audit.source.analyse import audit_text

HEAD = """\
import functools
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import jit, lax, vmap as over_lanes
import jax.random as jr


def sign(x):
    if x > 0:
        return 1.0
    return -1.0
"""

# Each gives `main()`, a call of everything that it defines.
PROGRAMS = {
    "called outside": """
        def main():
            return sign(jnp.ones(()))
    """,
    "decorator": """
        @jax.jit
        def f(x):
            return sign(x)

        def main():
            return f(1.0)
    """,
    "imported name": """
        @jit
        def f(x):
            return sign(x * 2)

        def main():
            return f(1.0)
    """,
    "partial with a static name": """
        @partial(jax.jit, static_argnames=("n",))
        def f(x, n):
            return x * sign(n)

        def main():
            return f(1.0, n=3)
    """,
    "partial with another static name": """
        @functools.partial(jax.jit, static_argnames="n")
        def f(x, n):
            return sign(x) * n

        def main():
            return f(1.0, n=3)
    """,
    "static by position": """
        def f(x, n):
            return x * sign(n)

        g = jax.jit(f, static_argnums=(1,))

        def main():
            return g(1.0, 3)
    """,
    "static by negative position": """
        def f(x, n):
            return x * sign(n)

        g = jax.jit(f, static_argnums=-1)

        def main():
            return g(1.0, 3)
    """,
    "decorator with options": """
        @jax.jit(static_argnames=["n"])
        def f(x, n):
            return x * sign(n)

        def main():
            return f(1.0, n=3)
    """,
    "shape": """
        @jax.jit
        def f(x):
            if x.shape[0] > 2 and x.ndim == 1 and len(x) > 1 and x.dtype == jnp.float32:
                return x * 2
            return x

        def main():
            return f(jnp.ones(3))
    """,
    "is None": """
        @jax.jit
        def f(x, mask=None):
            if mask is None:
                return x
            return x * mask

        def main():
            return f(1.0, 2.0)
    """,
    "default that stays": """
        @jax.jit
        def f(x, double=True):
            if double:
                return x * 2
            return x

        def main():
            return f(1.0)
    """,
    "default that is given": """
        @jax.jit
        def f(x, double=True):
            if double:
                return x * 2
            return x

        def main():
            return f(1.0, False)
    """,
    "constants inside of jit": """
        @jax.jit
        def f(x):
            return x * sign(jnp.float32(3.0))

        def main():
            return f(1.0)
    """,
    "NumPy's constants inside of jit": """
        @jax.jit
        def f(x):
            return x * sign(np.float32(3.0))

        def main():
            return f(1.0)
    """,
    "three calls away": """
        def inner(x):
            return sign(x)

        def middle(x):
            return inner(x + 1)

        class Model:
            def __init__(self, scale):
                self.scale = scale

            def apply(self, x):
                return middle(x) * self.scale

        model = Model(2.0)

        @jax.jit
        def f(x):
            return model.apply(x)

        def main():
            return f(1.0)
    """,
    "an attribute of an object": """
        class Model:
            def __init__(self, scale):
                self.scale = scale

            def apply(self, x):
                return x * sign(self.scale)

        model = Model(2.0)
        f = jax.jit(model.apply)

        def main():
            return f(1.0)
    """,
    "a method that is jitted": """
        class Model:
            def __init__(self):
                self.step = jax.jit(self._step)

            def _step(self, x):
                return sign(x)

        def main():
            return Model().step(1.0)
    """,
    "a factory": """
        def make(scale):
            def step(x):
                return x * sign(scale)

            return jax.jit(step)

        def main():
            return make(2.0)(1.0)
    """,
    "a factory's step": """
        def make(scale):
            @jax.jit
            def step(x):
                return sign(x) * scale

            return step

        def main():
            return make(2.0)(1.0)
    """,
    "grad outside of jit": """
        def f(x):
            return x * sign(x)

        def main():
            return jax.grad(f)(1.0)
    """,
    "grad inside of jit": """
        def f(x):
            return x * sign(x)

        @jax.jit
        def g(x):
            return jax.grad(f)(x)

        def main():
            return g(1.0)
    """,
    "vmap": """
        def main():
            return jax.vmap(sign)(jnp.ones(3))
    """,
    "vmap of another argument": """
        def f(x, n):
            return x * sign(n)

        def main():
            return over_lanes(f, in_axes=(0, None))(jnp.ones(3), 2.0)
    """,
    "scan": """
        def body(carry, x):
            return carry + sign(x), None

        def main():
            return lax.scan(body, 0.0, jnp.ones(3))
    """,
    "scan's carry": """
        def body(carry, x):
            return carry * sign(carry), None

        def main():
            return jax.lax.scan(body, 1.0, jnp.ones(3))
    """,
    "a closure of a scan's body": """
        def run(n):
            def body(carry, x):
                return carry * sign(n) + x, None

            return jax.lax.scan(body, 1.0, jnp.ones(3))

        def main():
            return run(2)
    """,
    "fori_loop": """
        def main():
            return lax.fori_loop(0, 3, lambda i, x: x + sign(i), 0.0)
    """,
    "while_loop": """
        def main():
            return lax.while_loop(lambda x: x < 3.0, lambda x: x + sign(x), 1.0)
    """,
    "cond": """
        def main():
            return lax.cond(True, sign, lambda x: -1.0, 2.0)
    """,
    "a Python loop": """
        @jax.jit
        def f(x):
            total = 0
            for i in range(3):
                total = total + sign(i)
            return x + total

        def main():
            return f(1.0)
    """,
    "a Python loop that becomes traced": """
        @jax.jit
        def f(x):
            total = 0
            for i in range(3):
                total = total + x
                if i > 1 and total > 2:
                    return total
            return total

        def main():
            return f(1.0)
    """,
    "a tuple": """
        class Batch(NamedTuple):
            x: jax.Array
            y: jax.Array

        @jax.jit
        def f(batch):
            x, y = batch
            return sign(y)

        def main():
            return f(Batch(1.0, 2.0))
    """,
    "a dict": """
        @jax.jit
        def f(params):
            return sign(params["w"])

        def main():
            return f({"w": 1.0})
    """,
    "the keys of a dict": """
        @jax.jit
        def f(params):
            if "w" in params:
                return params["w"]
            return 0.0

        def main():
            return f({"w": 1.0})
    """,
    "a comprehension": """
        @jax.jit
        def f(xs):
            return [sign(x) for x in xs]

        def main():
            return f([1.0, 2.0])
    """,
    "a tree": """
        @jax.jit
        def f(tree):
            return jax.tree.map(lambda leaf: sign(leaf), tree)

        def main():
            return f({"a": 1.0})
    """,
    "a callback": """
        def host(x):
            return np.float32(sign(x))

        @jax.jit
        def f(x):
            return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)

        def main():
            return f(jnp.float32(1.0))
    """,
    "a lambda": """
        f = jax.jit(lambda x: sign(x))

        def main():
            return f(1.0)
    """,
    "isinstance": """
        @jax.jit
        def f(x):
            if isinstance(x, dict):
                return x["a"]
            return x

        def main():
            return f(1.0)
    """,
    "checkpoint": """
        @jax.jit
        def f(x):
            return jax.checkpoint(sign)(x)

        def main():
            return f(1.0)
    """,
    "a random draw": """
        @jax.jit
        def f(key):
            return sign(jr.normal(key))

        def main():
            return f(jr.key(0))
    """,
    "a sum that a number starts, of turns that are made for certain": """
        @jax.jit
        def f(x):
            total = 0
            for i in range(8):
                total += x[i] > 0
            return sign(total)

        def main():
            return f(jnp.ones(8))
    """,
    "a sum that a number starts, of no turn at all": """
        @jax.jit
        def f(x):
            total = 0
            for i in range(len(())):
                total += x[i] > 0
            return sign(total) * x

        def main():
            return f(jnp.ones(8))
    """,
    "a sum that a number starts, left in the first turn": """
        @jax.jit
        def f(x):
            total = 0
            for i in range(8):
                if i < 1:
                    break
                total += x[i] > 0
            return sign(total) * x

        def main():
            return f(jnp.ones(8))
    """,
}

try:
    jax.jit(static_argnames="n")
except TypeError:  # older releases want the function at once
    del PROGRAMS["decorator with options"]


def is_raised(text: str) -> bool:
    module: dict[str, object] = {"__name__": "program"}
    exec(compile(text, "program.py", "exec"), module)
    try:
        module["main"]()  # type: ignore[operator]
    except jax.errors.TracerBoolConversionError:
        return True
    return False


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_truth_value_is_missed_where_jax_misses_it(name: str):
    text = HEAD + "\n\n" + textwrap.dedent(PROGRAMS[name])
    found = audit_text(text, "program", strict=True).issues
    assert ("JT201" in {it.code for it in found}) == is_raised(text)
