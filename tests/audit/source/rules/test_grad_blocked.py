"""Gradients that get lost on the way, or are meant to: rounding, comparisons, draws, rules."""

import pytest

from .claims import check_found, check_silent, each_of
from .reading import found

WRONG = {
    "a function that is right for a metric beside the loss": """
        def located(maps):
            best = jnp.argmax(maps, axis=-1)
            return best.astype(jnp.float32) / maps.shape[-1]

        def loss(w, x, y):
            maps = x @ w
            error = jnp.mean((located(maps) - y) ** 2)  # GR010
            hits = jnp.mean(located(maps) == y)
            return error, hits

        gradient = jax.grad(loss, has_aux=True)
        """,
    "draws by distributions over classes": """
        import distrax
        import numpyro.distributions as dist

        def first(w, x, gains, key):
            chosen = distrax.OneHotCategorical(logits=x @ w).sample(seed=key)  # GR010
            return jnp.mean(chosen * gains)

        def second(w, x, gains, key):
            policy = dist.BernoulliLogits(x @ w)
            return jnp.mean(policy.sample(key) * gains)  # GR010

        def third(w, x, gains, key):
            policy = distrax.Bernoulli(probs=jax.nn.sigmoid(x @ w))
            chosen, _ = policy.sample_and_log_prob(seed=key)  # GR010
            return jnp.mean(chosen * gains)

        def fourth(w, gains, key):
            return jax.random.choice(key, gains, (8,), p=jax.nn.softmax(w)).mean()  # GR010

        gradients = jax.grad(first), jax.grad(second), jax.grad(third), jax.grad(fourth)
        """,
    "one of several results, or of several arguments": """
        from jax.scipy.ndimage import map_coordinates

        def counted(w, x, wanted):
            counts, edges = jnp.histogram(x @ w, bins=10, range=(0.0, 1.0))  # GR010
            return jnp.sum((counts - wanted) ** 2)

        def whole(w, x):
            steps, rest = jnp.divmod(w, 0.1)  # GR010
            return jnp.sum(steps * x)

        def seen(pose, image):
            return map_coordinates(image, [pose[0], pose[1]], order=0).sum()  # GR010

        gradients = jax.grad(counted), jax.grad(whole), jax.grad(seen)
        """,
    "a helper that is right for data": """
        def ranks(x):
            return jnp.argsort(jnp.argsort(x)).astype(x.dtype)

        def loss(w, x, y):
            given = ranks(y)
            guessed = ranks(x @ w)  # GR010
            return jnp.mean((guessed - given) ** 2)

        gradient = jax.grad(loss)
        """,
    "a helper that is wrong wherever it is called": """
        def ranks(x):
            return jnp.argsort(jnp.argsort(x)).astype(x.dtype)  # GR010

        def loss(w, x, y):
            return jnp.mean((ranks(x @ w) - y) ** 2)

        def other(w, x, y):
            return jnp.mean(jnp.abs(ranks(x @ w) - y))

        gradients = jax.grad(loss), jax.grad(other)
        """,
    "straight through with both sides stopped": """
        import flax.linen as nn
        import optax

        class Coder(nn.Module):
            @nn.compact
            def __call__(self, x, key):
                logits = nn.Dense(8)(x)
                probs = jax.nn.softmax(logits)
                onehot = jax.nn.one_hot(jax.random.categorical(key, logits), 8)
                z = onehot + lax.stop_gradient(probs) - lax.stop_gradient(probs)  # GR013
                return nn.ConvTranspose(3, (4,))(nn.Dense(8)(z))

        def loss(params, x, key, labels):
            logits = Coder().apply(params, x, key)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        gradient = jax.grad(loss)
        """,
    "straight through with the wrong sign": """
        def hard(logits):
            soft = jax.nn.softmax(logits)
            onehot = jax.nn.one_hot(jnp.argmax(soft, -1), logits.shape[-1])
            return jax.lax.stop_gradient(onehot + soft) - soft  # GR013

        def loss(w, x):
            return jnp.mean(hard(x @ w) ** 2)

        gradient = jax.grad(loss)
        """,
    "a gate that is a comparison": """
        def loss(params, x):
            gate = (x @ params["gate"] > 0).astype(jnp.float32)  # GR010
            return jnp.mean(gate * (x @ params["w"]))

        def train(params, x):
            return jax.value_and_grad(loss)(params, x)
        """,
    "rounded in a helper, differentiated by a lambda": """
        def quantised(w):
            codes = jnp.round(w * 127)  # GR010
            return codes / 127.0

        gradient = jax.grad(lambda w, x: jnp.sum(x * quantised(w)))
        """,
    "a sign inside of a scan": """
        @functools.partial(jax.jit, static_argnames="n")
        def fit(w, x, n):
            def body(w, _):
                g = jax.grad(lambda w: jnp.sum(jnp.sign(x @ w)))(w)  # GR010
                return w - 0.1 * g, None
            return lax.scan(body, w, None, length=n)[0]
        """,
    "a sampled action": """
        def loss(logits, key, rewards):
            action = jax.random.categorical(key, logits)  # GR010
            return rewards[action]

        gradient = jax.grad(loss)
        """,
    "a number of Python's": """
        def loss(w, x):
            return jnp.sum(x) * float(jnp.sum(w))  # GR010

        gradient = jax.grad(loss)
        """,
    "a reversed estimator in a helper": """
        def hard(x):
            q = (x > 0.5).astype(jnp.float32)
            return q + stop_gradient(x - q)  # GR013

        def entry(w, x):
            return jax.grad(lambda w: jnp.mean(hard(x @ w)))(w)
        """,
    "a router of a model that a state of training applies": """
        import flax.linen as nn
        import optax
        from flax.training.train_state import TrainState

        class Router(nn.Module):
            @nn.compact
            def __call__(self, x):
                scores = nn.softmax(nn.Dense(4)(x))
                return jax.nn.one_hot(jnp.argmax(scores, axis=-1), 4)  # GR010

        class Model(nn.Module):
            @nn.compact
            def __call__(self, x):
                return jnp.einsum("be,bed->bd", Router()(x), nn.DenseGeneral((4, 8))(x))

        @jax.jit
        def step(state, x, y):
            def loss(params):
                return jnp.mean((state.apply_fn({"params": params}, x) - y) ** 2)

            return state.apply_gradients(grads=jax.grad(loss)(state.params))

        def create(key, x):
            model = Model()
            params = model.init(key, x)["params"]
            return TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-3))
        """,
    "rounded codes of a model with another encoder": """
        import equinox as eqx

        class Codec(eqx.Module):
            encoder: jax.Array
            decoder: jax.Array

            def code(self, x):
                return jnp.round(x @ self.encoder)  # GR010

        def loss(encoder, codec, x):
            codec = eqx.tree_at(lambda it: it.encoder, codec, encoder)
            return jnp.mean((codec.code(x) @ codec.decoder - x) ** 2)

        def step(codec: Codec, x):
            return jax.grad(loss)(codec.encoder, codec, x)
        """,
}

RIGHT = {
    "draws that move with their parameters, and scores of those that do not": """
        import distrax

        def moved(w, x, gains, key):
            return jnp.mean(distrax.Normal(x @ w, 1.0).sample(seed=key) * gains)

        def scored(w, x, gains, key):
            policy = distrax.Categorical(logits=x @ w)
            chosen, score = policy.sample_and_log_prob(seed=key)
            return -jnp.mean(score * gains[chosen])

        def shuffled(gains, chances, key):
            return jax.random.choice(key, gains, (8,), p=chances).mean()

        gradients = jax.grad(moved), jax.grad(scored), jax.grad(shuffled)
        """,
    "the other results, and the other arguments": """
        from jax.scipy.ndimage import map_coordinates

        def weighted(weights, x):
            counts, _ = jnp.histogram(x, bins=10, weights=weights)
            return jnp.sum(counts**2)

        def edges(w, x):
            return jnp.sum(jnp.histogram(x @ w, bins=10)[1] ** 2)

        def rest(w, x):
            return jnp.sum(jnp.divmod(w, 0.1)[1] * x)

        def painted(image, places):
            return map_coordinates(image, places, order=0).sum()

        def smooth(places, image):
            return map_coordinates(image, places, order=1).sum()

        gradients = [jax.grad(it) for it in (weighted, edges, rest, painted, smooth)]
        """,
    "a value that is pulled to its own return": """
        def hard(logits):
            soft = jax.nn.softmax(logits)
            onehot = jax.nn.one_hot(jnp.argmax(soft, -1), logits.shape[-1])
            return jax.lax.stop_gradient(onehot - soft) + soft

        def reversed_gradient(x):
            return jax.lax.stop_gradient(2 * x) - x

        def loss(w, x, done):
            value = x @ w["value"]
            advantage = jax.lax.stop_gradient(jnp.where(done, 0.0, value[1:].mean() - value))
            error = jax.lax.stop_gradient(advantage + value) - value
            policy = hard(reversed_gradient(x @ w["policy"]))
            return jnp.mean(error**2) + jnp.mean(policy)

        gradient = jax.grad(loss)
        """,
    "an index beside a smooth path": """
        def height(pos, grid):
            i = jnp.floor(pos).astype(jnp.int32)
            return grid[i] + (pos - i) * (grid[i + 1] - grid[i])

        slope = jax.vmap(jax.grad(height), in_axes=(0, None))
        """,
    "a rule of its own makes rounding differentiable": """
        @jax.custom_vjp
        def hard(x):
            return jnp.round(x)

        hard.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))
        gradient = jax.grad(lambda w, x: jnp.sum(x * hard(w)))
        """,
    "a gradient of the same by custom_gradient": """
        @jax.custom_gradient
        def hard(x):
            return jnp.sign(x), lambda g: (g,)

        gradient = jax.grad(lambda w, x: jnp.sum(x * hard(w)))
        """,
    "a parameter that is meant to be fixed": """
        def loss(params, x):
            return jnp.mean((x @ params["w"]) * stop_gradient(params["scale"]))

        gradient = jax.grad(loss)
        """,
    "a solver that holds the parameters in a closure": """
        from somewhere import solve

        def loss(w, x):
            guess = jnp.round(w)
            return solve(lambda y: w @ y - x, guess)

        gradient = jax.grad(loss)
        """,
    "the carry brings the parameter a turn later": """
        def loss(w, x):
            def body(state, _):
                a, b = state
                return (jnp.round(a) + b, w * x), None
            (a, b), _ = lax.scan(body, (w, jnp.zeros(())), None, length=3)
            return a

        gradient = jax.grad(loss)
        """,
    "a part of a dict that is put together from two": """
        def loss(gate, fixed, x):
            merged = {**fixed, **gate}
            return jnp.mean(jax.nn.sigmoid(x @ merged["gate"]) * (x @ merged["out"]))

        def step(gate, fixed, x):
            return jax.grad(loss)(gate, fixed, x)
        """,
    "a state that applies one of two models": """
        import flax.linen as nn
        from flax.training.train_state import TrainState

        class Hard(nn.Module):
            @nn.compact
            def __call__(self, x):
                return jnp.round(nn.Dense(4)(x))

        class Soft(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(4)(x)

        def create(hard, soft, tx):
            one = TrainState.create(apply_fn=Hard().apply, params=hard, tx=tx)
            return one, TrainState.create(apply_fn=Soft().apply, params=soft, tx=tx)

        def step(state, x):
            return jax.grad(lambda params: state.apply_fn(params, x).sum())(state.params)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")


def test_a_model_whose_apply_function_is_handed_on():
    program = """
    import flax.linen as nn
    from flax.training import train_state

    class Coder(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(jnp.round(nn.Dense(2)(x)))

    def loss(params, apply, x):
        return jnp.mean((apply({"params": params}, x) - x) ** 2)

    @jax.jit
    def step(state, x):
        return jax.grad(loss)(state.params, state.apply_fn, x)

    def create(params, tx):
        return train_state.TrainState.create(apply_fn=Coder().apply, params=params, tx=tx)
    """
    assert found("GR010", program) == [7]


HELD = """
import equinox as eqx

class Head(eqx.Module):
    weight: jax.Array

    def __call__(self, x):
        return jnp.round(x @ self.weight)

class Model(eqx.Module):
    first: Head
    rest: list["Head"]

    def __call__(self, x):
        return {}

@eqx.filter_grad
def loss(model: Model, x):
    return jnp.sum(model(x))
"""


@pytest.mark.parametrize("call", ["self.first(x)", "sum(it(x) for it in self.rest)"])
def test_objects_that_are_held_in_annotated_fields(call: str):
    assert found("GR010", HELD.replace("{}", call)) == [7]


def test_a_field_that_may_hold_an_object_of_another_class():
    program = HELD.replace("{}", "self.first(x)")
    program += """
class Smooth(Head):
    def __call__(self, x):
        return x @ self.weight
"""
    assert found("GR010", program) == []
