"""Mistakes whose values go through a container or a function, and right programs of that look."""

import pytest

from .reading import found

PROGRAMS = {
    "a step whose values go through a tuple": (
        "DF115",
        """
        def f(x, w, v):
            held = (jnp.tanh(x @ w),)
            hidden = held[0]
            held = (x @ v,)
            hidden = held[0]
            return hidden.sum()
        """,
        [5],
    ),
    "a name for what has another one": (
        "DF115",
        """
        def f(x, w, v):
            features = jnp.tanh(x @ w)
            hidden = features
            hidden = x @ v
            return hidden.sum(), features
        """,
        [],
    ),
    "two parts of one thing, of which the second is wanted": (
        "DF115",
        """
        def f(batch, w):
            hidden = batch["first"]
            hidden = batch["second"] @ w
            return hidden.sum()
        """,
        [],
    ),
    "an element that a function writes": (
        "SC008",
        """
        def write(x, i, value):
            return x.at[i].set(2.0 * value)

        def f(x, values, n):
            for i in range(n):
                y = write(x, i, values[i])
            return y
        """,
        [6],
    ),
    "an element that a function writes into what the turn before has made": (
        "SC008",
        """
        def write(x, i, value):
            return x.at[i].set(2.0 * value)

        def f(x, values, n):
            y = x
            for i in range(n):
                y = write(y, i, values[i])
            return y
        """,
        [],
    ),
    "the same element in each turn": (
        "SC008",
        """
        def write(x, i, value):
            return x.at[i].set(2.0 * value)

        def f(x, values, n):
            for i in range(n):
                y = write(x, 0, values[i])
            return y
        """,
        [],
    ),
    "an element of what each turn makes anew": (
        "SC008",
        """
        def one_hot(i, value):
            return jnp.zeros(3).at[i].set(value)

        def f(values, n):
            for i in range(n):
                y = one_hot(i, values[i])
            return y
        """,
        [],
    ),
    "parameters that a function binds": (
        "DF126",
        """
        def error(params, x):
            return jnp.mean((x @ params - 1.0) ** 2)

        def evaluator(params):
            return jax.jit(partial(error, params))

        def descend(params, x):
            return params - 0.1 * jax.grad(error)(params, x)

        def f(params, x, test):
            validate = evaluator(params)
            history = []
            for _ in range(3):
                params = descend(params, x)
                history.append(validate(test))
            return params, jnp.stack(history)
        """,
        [11],
    ),
    "parameters that a function binds anew in each turn": (
        "DF126",
        """
        def error(params, x):
            return jnp.mean((x @ params - 1.0) ** 2)

        def evaluator(params):
            return jax.jit(partial(error, params))

        def descend(params, x):
            return params - 0.1 * jax.grad(error)(params, x)

        def f(params, x, test):
            history = []
            for _ in range(3):
                params = descend(params, x)
                validate = evaluator(params)
                history.append(validate(test))
            return params, jnp.stack(history)
        """,
        [],
    ),
    "other data that a function binds": (
        "DF126",
        """
        def error(x, params):
            return jnp.mean((x @ params - 1.0) ** 2)

        def evaluator(x):
            return jax.jit(partial(error, x))

        def descend(params, x):
            return params - 0.1 * jax.grad(error)(params, x)

        def f(params, x, test):
            validate = evaluator(test)
            history = []
            for _ in range(3):
                params = params - 0.1 * jax.grad(lambda p: error(x, p))(params)
                history.append(validate(params))
            return params, jnp.stack(history)
        """,
        [],
    ),
    "parameters that are updated in place after they were bound": (
        "DF126",
        """
        def error(params, x):
            return jnp.mean((x @ params - 1.0) ** 2)

        def f(params, x, test):
            validate = partial(error, params)
            history = []
            for _ in range(3):
                params -= 0.1 * jax.grad(error)(params, x)
                history.append(validate(test))
            return params, jnp.stack(history)
        """,
        [5],
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_values_are_followed(case: str):
    code, program, lines = PROGRAMS[case]
    assert found(code, program) == lines
