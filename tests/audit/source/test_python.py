"""What the interpreter knows of Python, seen by what a rule finds because of it."""

import pytest

from .rules.reading import found

PROGRAMS = {
    "a value that is declared where it is made": (
        "DF101",
        """
        def embed(w, x):
            return jax.nn.relu(x @ w)

        @jax.jit
        def policy(params, camera, joints):
            seen: jax.Array = embed(params["camera"], camera)
            felt: jax.Array = embed(params["joints"], joints)
            both: jax.Array = jnp.concatenate([seen, seen], axis=-1)
            return both @ params["out"]
        """,
        [8],
    ),
    "operators by the names of their functions": (
        "GR014",
        """
        def loss(params, obs, reward, after):
            target = jnp.add(reward, jnp.multiply(0.99, after @ params))
            return jnp.mean(jnp.square(jnp.subtract(obs @ params, target)))

        def step(params, obs, reward, after):
            return jax.grad(loss)(params, obs, reward, after)
        """,
        [2],
    ),
    "a discounted value by the name of the function that multiplies": (
        "EN011",
        """
        def targets(rewards, values, discounts):
            return jnp.add(rewards[1:], jnp.multiply(0.99 * discounts[1:], values[:-1]))
        """,
        [2],
    ),
    "a difference written as a sum": (
        "EN007",
        """
        def errors(rewards, values, last, dones):
            extended = jnp.concatenate([values, last[None]])
            return rewards + 0.99 * (1.0 - dones) * extended[:-1] + -values
        """,
        [3],
    ),
    "parts of a result by their numbers": (
        "DF105",
        """
        def step(state, x):
            return {"total": state["total"] + x}, x.mean()

        def run(state, xs):
            means = []
            for i in range(3):
                both = step(state, xs[i])
                new_state = both[0]
                mean = both[1]
                means.append(mean)
            return state, jnp.stack(means)
        """,
        [7],
    ),
    "parts of a result by their numbers, and the whole": (
        "DF105",
        """
        def step(state, x):
            return {"total": state["total"] + x}, x.mean()

        def run(state, xs):
            means = []
            for i in range(3):
                both = step(state, xs[i])
                new_state = both[0]
                mean = both[1]
                means.append(both)
            return state, means
        """,
        [],
    ),
    "some of the keys that a split gives": (
        "RK004",
        """
        def f(key):
            keys = jax.random.split(key, 3)
            one = keys[0]
            other = keys[1]
            return jax.random.normal(one), jax.random.normal(other)
        """,
        [],
    ),
    "the first rows of an array": (
        "AX201",
        """
        def f():
            rows = jnp.zeros((5, 3))
            one = rows[0]
            other = rows[1]
            return one + other + jnp.zeros(3)
        """,
        [],
    ),
    "a block that only has a name": (
        "DF104",
        """
        def f(x, limit):
            with jax.named_scope("cut"):
                x.at[0].set(0.0)
                return jnp.minimum(x, limit)
        """,
        [3],
    ),
    "a block that may be there for an error": (
        "DF104",
        """
        def f(x, limit, expected):
            with expected("failure"), jax.named_scope("cut"):
                x.at[0].set(0.0)
            return jnp.minimum(x, limit)
        """,
        [],
    ),
    "an error that is suppressed": (
        "AX201",
        """
        import contextlib
        import contextlib as managers
        from contextlib import suppress

        def f(x):
            with contextlib.suppress(TypeError):
                jnp.ones(3) + jnp.ones(5)
            with open("log") as log, managers.suppress(TypeError, ValueError), log:
                jnp.ones(3) + jnp.ones(5)
            with suppress(TypeError), suppress(ValueError):
                jnp.ones(3) + jnp.ones(5)
            return jnp.ones(3) + jnp.ones(5)
        """,
        [12],
    ),
    "an error of tracing that is suppressed": (
        "JT201",
        """
        from contextlib import suppress

        @jax.jit
        def f(x):
            with suppress(TypeError):
                if x > 0:
                    return x
            if x > 1:
                return x
            return 2 * x
        """,
        [8],
    ),
    "a context manager that is called like it": (
        "AX201",
        """
        def f(log):
            with log.suppress(TypeError):
                return jnp.ones(3) + jnp.ones(5)
        """,
        [3],
    ),
    "a total that is declared": (
        "DF122",
        """
        @jax.jit
        def f(params, parts):
            total: jax.Array = jnp.zeros_like(params)
            for i in range(3):
                grads = jax.grad(lambda p: jnp.mean((parts[i] @ p) ** 2))(params)
                total: jax.Array = total + grads
            return params - 0.1 * grads / 3
        """,
        [6],
    ),
    "what is false in any case": (
        "JT202",
        """
        @jax.jit
        def f(x, flag):
            shown = flag and False
            if shown:
                x = float(x)
            return x
        """,
        [],
    ),
    "the rest of a condition that is decided": (
        "JT201",
        """
        DEBUG = False

        @jax.jit
        def f(x):
            if DEBUG and x.sum() > 0:
                x = -x
            return x
        """,
        [],
    ),
    "a list times an array": (
        "JT201",
        """
        @jax.jit
        def f(x):
            y = [1.0, 2.0] * jnp.sin(x)
            if y[0] > 0:
                y = -y
            return y
        """,
        [4],
    ),
    "two trees that are compared": (
        "JT201",
        """
        @jax.jit
        def f(a, b):
            return a if a == b else b
        """,
        [],
    ),
    "a chain of comparisons": (
        "JT201",
        """
        @jax.jit
        def f(x):
            return 0 < x < 1
        """,
        [3],
    ),
    "a value that only a loop that is left gives": (
        "JT202",
        """
        @jax.jit
        def f(x, flag):
            for _ in range(3):
                if flag:
                    y = jnp.sum(x)
                    break
            return float(y)
        """,
        [7],
    ),
    "what is expected to fail": (
        "JT201",
        """
        import pytest

        @jax.jit
        def f(x):
            with pytest.raises(ValueError):
                if x > 0:
                    x = -x
            return x
        """,
        [],
    ),
    "a match on a tracer": (
        "JT201",
        """
        @jax.jit
        def f(x):
            match jnp.sum(x):
                case 0:
                    return x
            return -x
        """,
        [3],
    ),
    "the order of decorators": (
        "JT202",
        """
        def eager(g):
            def call(x):
                return float(g(x))
            return call

        @jax.jit
        @eager
        def f(x):
            return x.sum()
        """,
        [3],
    ),
    "arguments whose number is not known": (
        "JT202",
        """
        def scaled(x, plainly=False):
            if plainly:
                return float(x)
            return x

        @jax.jit
        def f(args):
            return scaled(*args)
        """,
        [3],
    ),
    "a keyword that a call gives anew": (
        "JT202",
        """
        def scaled(x, plainly=False):
            return float(x) if plainly else x

        gently = functools.partial(scaled, plainly=False)

        @jax.jit
        def f(x):
            return gently(x, plainly=True)
        """,
        [2],
    ),
    "a tracer or an array of NumPy": (
        "JT202",
        """
        @jax.jit
        def f(x, flag):
            y = jnp.sin(x) if flag else np.float32(3.0)
            return float(y)
        """,
        [],
    ),
    "a number by its annotation": (
        "JT201",
        """
        @jax.jit
        def f(x, n: int):
            if n in (1, 2):
                x = -x
            return x
        """,
        [3],
    ),
    "a list that may have one more": (
        "JT202",
        """
        def collect(x, flag):
            outs = []
            if flag:
                outs.append(x)
            if len(outs) == 0:
                return float(x)
            return x

        def g(x, flag):
            return jax.jit(lambda y: collect(y, flag))(x)
        """,
        [6],
    ),
    "a dict that may have one more": (
        "JT202",
        """
        def collect(x, flag):
            outs = {}
            if flag:
                outs.update(first=x)
            if "first" not in outs:
                return float(x)
            return x

        def g(x, flag):
            return jax.jit(lambda y: collect(y, flag))(x)
        """,
        [6],
    ),
    "a default where a key may be missing": (
        "JT202",
        """
        @jax.jit
        def f(x, name):
            return float({"a": jnp.sin(x)}.get("b", 0.0))
        """,
        [],
    ),
    "a filter by tracers": (
        "JT201",
        """
        @jax.jit
        def f(x):
            return list(filter(lambda y: y > 0, [x, jnp.sin(x)]))
        """,
        [3],
    ),
    "a key that one of two expressions consumes": (
        "RK001",
        """
        def f(key, x, flag):
            y = jax.random.normal(key) if flag else x
            return y + jax.random.normal(key)
        """,
        [3],
    ),
    "a key that a helper consumes on one of its ways": (
        "RK001",
        """
        def noisy(key, x, flag):
            if flag:
                return x + jax.random.normal(key)
            return x

        def f(key, x, flag):
            return noisy(key, x, flag) + jax.random.uniform(key)
        """,
        [7],
    ),
    "a key that a loop has consumed": (
        "RK001",
        """
        def f(key, xs):
            for x in xs:
                y = x + jax.random.normal(key)
            return y + jax.random.uniform(key)
        """,
        [4],
    ),
    "an item that was replaced": (
        "RK001",
        """
        def f(state, key):
            x = jax.random.normal(state["key"])
            state["key"] = key
            return x + jax.random.normal(state["key"])
        """,
        [],
    ),
    "a part of a condition that excludes another one": (
        "RK001",
        """
        def f(key, x, train, wide):
            if train and wide:
                x = x + jax.random.normal(key)
            if not train:
                x = x + jax.random.uniform(key)
            return x
        """,
        [],
    ),
    "a generator, which is true": (
        "JT201",
        """
        def halves(x):
            yield jnp.sin(x)

        @jax.jit
        def f(x):
            return x if halves(x) else -x
        """,
        [],
    ),
    "the fields of a class after those that it inherits": (
        "JT202",
        """
        from dataclasses import dataclass
        from typing import Any

        @dataclass
        class First:
            one: Any

        @dataclass
        class Both(First):
            other: Any

        @jax.jit
        def f(x):
            both = Both(3.0, x)
            one = float(both.one)
            return one, float(both.other)
        """,
        [16],
    ),
    "an array of one of two sizes": (
        "AX201",
        """
        def f(flag):
            x = jnp.zeros(3) if flag else jnp.zeros(4)
            return x + jnp.zeros(4)
        """,
        [],
    ),
    "a counter that starts later": (
        "RK004",
        """
        def f(key):
            keys = jax.random.split(key, 3)
            return [jax.random.normal(keys[i]) for i in range(1, 4)]
        """,
        [2],
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_python_is_known(case: str):
    code, program, lines = PROGRAMS[case]
    assert found(code, program) == lines
