"""Values that get lost or mistaken for something else, and programs that only look like it."""

import pytest

from .claims import assert_claims

DROPPED = {
    "the raw value is used instead": """
        def entry(w, mean, std, obs):
            normed = (obs - mean[None]) / jnp.maximum(std[None], 0.1)
            scale = jnp.maximum(jnp.abs(w).max(), 1.0)
            hidden = obs @ w  # DF101
            return hidden / scale

        def inputs():
            return jnp.ones((4, 4)), jnp.zeros(4), jnp.ones(4), jnp.ones((5, 4))
        """,
    "a helper is handed the raw value": """
        def layer(w, x):
            return jnp.tanh(x @ w)

        def entry(w, mean, obs):
            normed = obs - mean[None]
            normed = jnp.clip(normed, -5, 5)
            return layer(w, obs)  # DF101

        def inputs():
            return jnp.ones((4, 4)), jnp.zeros(4), jnp.ones((5, 4))
        """,
    "the old parameters are returned": """
        def entry(params, grads):
            new_params = params - 0.1 * grads  # DF101
            return params

        def inputs():
            return jnp.ones(3), jnp.ones(3)
        """,
    "overwritten before it is used": """
        def entry(w, x):
            h = jnp.tanh(x @ w["a"])
            h = jnp.tanh(x @ w["b"])  # DF101
            return h

        def inputs():
            return {"a": jnp.ones((4, 4)), "b": jnp.ones((4, 4))}, jnp.ones((5, 4))
        """,
    "through a second line, and cast from pixels": """
        def entry(frames, w):
            scaled = frames.astype(jnp.float32) / 255.0
            centred = scaled - 0.5
            return frames @ w  # DF101

        def inputs():
            return jnp.ones((5, 4), jnp.uint8), jnp.ones((4, 2))
        """,
    "weights have no effect inside of a map": """
        def attend(params, shift, x):
            keys = x @ params["k"]
            values = x @ params["v"] + shift[None]
            weights = jax.nn.softmax(keys @ keys.T, axis=-1)  # DF101
            return weights @ keys

        def entry(params, shifts, xs):
            return jax.vmap(attend, in_axes=(None, 0, 0))(params, shifts, xs)

        def inputs():
            params = {"k": jnp.ones((5, 4)), "v": jnp.ones((5, 4))}
            return params, jnp.ones((2, 4)), jnp.ones((2, 3, 5))
        """,
    "a whole input has no effect": """
        def embed(w, x):
            return jnp.tanh(x @ w)

        def entry(params, camera, joints):
            cam = embed(params["cam"], camera)
            jnt = embed(params["jnt"], joints)
            merged = jnp.concatenate([cam, cam], axis=-1)  # DF101
            return merged.sum()

        def inputs():
            params = {"cam": jnp.ones((10, 8)), "jnt": jnp.ones((7, 8))}
            return params, jnp.ones((5, 10)), jnp.ones((5, 7))
        """,
}


@pytest.mark.parametrize("program", DROPPED.values(), ids=DROPPED.keys())
def test_values_that_are_computed_and_forgotten(program):
    assert_claims("dataflow", program)


KEPT = {
    "read only for its shape": """
        def entry(x):
            y = x * 2.0
            return x.sum() / y.shape[0]
        """,
    "ignored on purpose": """
        def entry(x):
            _y = x * 2.0
            return x.sum()
        """,
    "returned by a helper, whose caller takes the other": """
        def both(x):
            low, high = x - 1.0, x + 1.0
            mid = x * 0.5
            return low, high, mid

        def entry(x):
            low, _, _ = both(x)
            return low + x
        """,
    "used in a branch that is not taken here": """
        FLAG = False

        def entry(x):
            smooth = x * 0.5
            if FLAG:
                x = smooth
            return x.sum()
        """,
    "printed": """
        def entry(x):
            half = x * 0.5
            jax.debug.print("{}", half)
            return x.sum()
        """,
    "differentiated only": """
        def loss(w, x):
            hidden = w * x
            return jnp.sum(hidden**2)

        def entry(x):
            return jax.grad(loss)(x, x)
        """,
    "a statistic that nobody asked for, of another shape": """
        def entry(x):
            norm = jnp.sqrt(jnp.sum(x**2) + 1.0)
            return x * 2.0
        """,
    "used in the next round of a Python loop": """
        def entry(x):
            last = x
            for _ in range(3):
                y = x + last
                last = x * 2.0
            return y
        """,
    "read by a function inside": """
        def entry(x):
            half = x * 0.5

            def unused():
                return half

            return x.sum()
        """,
    "a scan's result that is not needed": """
        def entry(x):
            final, ys = jax.lax.scan(lambda c, x: (c + x, c * x), x[0], x)
            return ys
        """,
}
_INPUT = "\n\ndef inputs():\n    return (jnp.ones((4, 4)),)\n"


@pytest.mark.parametrize("program", KEPT.values(), ids=KEPT.keys())
def test_dead_values_that_are_nobodys_fault(program):
    from textwrap import dedent

    assert_claims("dataflow", dedent(program) + _INPUT)


TWICE = {
    "written by hand": """
        def softmax(x):
            e = jnp.exp(x - x.max(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True)

        def entry(x):
            return jax.nn.log_softmax(softmax(x))  # DF102
        """,
    "through a reshape and a vmap": """
        def entry(x):
            probs = jax.nn.softmax(x).reshape(2, 2, 4)
            return jax.vmap(jax.nn.logsumexp)(probs[0])  # DF102
        """,
    "sigmoids": """
        def entry(x):
            p = jax.nn.sigmoid(x)
            return jax.nn.sigmoid(p)  # DF102
        """,
    "drawn from": """
        def entry(x):
            probs = jnp.exp(jax.nn.log_softmax(x))
            return jax.random.categorical(jax.random.key(0), probs)  # DF102
        """,
    "drawn from what is left": """
        def kept(chances, weights):
            held = jnp.where(chances > 0.1, chances * weights, 0.0)
            return held / (held.sum(axis=-1, keepdims=True) + 1e-8)

        def entry(x):
            probs = kept(jax.nn.softmax(x), jnp.exp(x))
            return jax.random.categorical(jax.random.key(0), probs)  # DF102
        """,
    "statistics that are constants": """
        MEAN, STD = np.arange(4.0)[None], np.arange(1.0, 5.0)[None]

        def whiten(x):
            return (x - MEAN) / STD

        def entry(x):
            y = whiten(x)
            return whiten(y)  # DF103
        """,
    "pixels": """
        def scale(x):
            return x / 255.0

        def entry(x):
            image = scale(x)
            return scale(image)  # DF103
        """,
    "a chance that is added to a logarithm of chances": """
        def entry(x):
            steps = jax.nn.softmax(x, axis=-1)
            first = jax.nn.log_softmax(x[0]) + x[1]

            def turn(belief, row):
                return jax.nn.logsumexp(belief[:, None] + steps, axis=0) + row, None  # DF102

            return jax.lax.scan(turn, first, x)[0]
        """,
    "by who hands it on, and by who never gets anything raw": """
        def scale(x):
            return x / 255.0

        def encode(image):
            return jnp.sin(scale(image))  # DF103

        def entry(x):
            image = scale(x)
            return encode(image)  # DF103
        """,
    "by who hands on one of two": """
        def scale(x):
            return x / 255.0

        def encode(image):
            return jnp.sin(scale(image))

        def entry(x):
            image = scale(x)
            return encode(x), encode(image)  # DF103
        """,
    "the same statistics, clipped in between": """
        def entry(x):
            mean, std = jnp.sin(x[:1]), jnp.exp(jnp.sin(x[1:2]))
            y = jnp.clip((x - mean) / std, -5.0, 5.0)
            return (y - mean) / std  # DF103
        """,
}


@pytest.mark.parametrize("program", TWICE.values(), ids=TWICE.keys())
def test_meanings_that_are_given_twice(program):
    from textwrap import dedent

    assert_claims("dataflow", dedent(program) + _INPUT)


ONCE = {
    "logarithms that are added, and chances that weight them": """
        def entry(x):
            belief = jax.nn.log_softmax(x, axis=-1) + x
            chance = jax.nn.softmax(x, axis=-1)
            return belief - jnp.sum(chance * belief), chance + x, belief @ chance
        """,
    "a softmax of log-probabilities": """
        def entry(x):
            return jax.nn.softmax(jax.nn.log_softmax(x))
        """,
    "attention, then a classifier": """
        def entry(x):
            weights = jax.nn.softmax(x @ x.T)
            return jax.nn.log_softmax(weights @ x)
        """,
    "other statistics": """
        def entry(x):
            y = jnp.sin(x)
            a = (x - y[:1]) / jnp.exp(y[1:2])
            return (a - y[2:3]) / jnp.exp(y[3:])
        """,
    "normalised, mapped back, normalised": """
        def entry(x):
            mean, std = jnp.sin(x[:1]), jnp.exp(jnp.sin(x[1:2]))
            y = (x - mean) / std
            z = jnp.tanh(y) * std + mean
            return (z - mean) / std
        """,
    "an iteration": """
        def entry(x):
            for _ in range(3):
                x = (x - 0.5) / 2.0
            return x
        """,
    "drawn from logits": """
        def entry(x):
            return jax.random.categorical(jax.random.key(0), jnp.log(jax.nn.softmax(x) + 1e-6))
        """,
    "logarithms of what is left, and shares of other things": """
        def kept(chances):
            held = jnp.where(chances > 0.1, chances, 0.0)
            return held / held.sum(axis=-1, keepdims=True)

        def entry(x):
            key, other = jax.random.split(jax.random.key(0))
            drawn = jax.random.categorical(key, jnp.log(kept(jax.nn.softmax(x))))
            return drawn, jax.random.categorical(other, kept(x))
        """,
    "two layer norms": """
        def norm(x):
            centred = x - x.mean(axis=-1, keepdims=True)
            return centred / jnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)

        def entry(x):
            return norm(norm(x))
        """,
}


@pytest.mark.parametrize("program", ONCE.values(), ids=ONCE.keys())
def test_meanings_that_only_look_alike(program):
    from textwrap import dedent

    assert_claims("dataflow", dedent(program) + _INPUT)
