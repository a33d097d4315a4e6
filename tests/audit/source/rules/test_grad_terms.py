"""Terms of losses that add to the value and not to the gradient."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a helper that is right for the other of two terms": """
        def looked_up(z, book):
            fixed = jax.lax.stop_gradient(book)
            apart = jnp.sum(z**2, -1, keepdims=True) - 2.0 * z @ fixed.T + jnp.sum(fixed**2, -1)
            return fixed[jnp.argmin(apart, axis=-1)]

        def pull(moving, anchor):
            return jnp.mean((moving - jax.lax.stop_gradient(anchor)) ** 2)

        def loss(params, x):
            z = x @ params["enc"]
            codes = looked_up(z, params["book"])
            learned = pull(codes, z)  # GR011
            kept = pull(z, codes)
            return jnp.mean((z @ params["dec"] - x) ** 2) + learned + 0.25 * kept

        def entry(params, x):
            return jax.grad(loss)(params, x)

        def inputs():
            return {"enc": jnp.ones((5, 3)), "book": jnp.ones((7, 3)), "dec": jnp.ones((3, 5))}, (
                jnp.ones((4, 5))
            )
        """,
    "a cost that is looked up": """
        def cost(plan, table):
            cells = jnp.clip(plan * 4.0, 0.0, 31.0).astype(jnp.int32)  # GR011
            return jnp.sum(jnp.diff(plan) ** 2) + 0.5 * jnp.sum(table[cells])

        def improve(plan, table):
            return plan - 0.1 * jax.grad(cost)(plan, table)
        """,
    "classes that are drawn, and whose chances nobody asks for": """
        import distrax

        def cost(w, x, prices, key):
            picked = distrax.Categorical(logits=x @ w).sample(seed=key)  # GR011
            return prices[picked].mean() + 0.1 * jnp.mean((x @ w) ** 2)

        def scored(w, x, prices, key):
            chances = distrax.Categorical(logits=x @ w)
            picked = chances.sample(seed=key)
            found = prices[picked]
            return found.mean() + jnp.mean(found * chances.log_prob(picked))

        def improve(w, x, prices, key):
            return w - 0.1 * jax.grad(cost)(w, x, prices, key)

        def improve_scored(w, x, prices, key):
            return w - 0.1 * jax.grad(scored)(w, x, prices, key)
        """,
    "a count beside an error, in each lane": """
        def loss(w, x, y):
            prediction = jnp.tanh(x @ w)
            wrong = jnp.mean(jnp.sign(prediction) != jnp.sign(y))  # GR011
            return jnp.mean((prediction - y) ** 2) + 0.1 * wrong

        def total(w, xs, ys):
            return jnp.mean(jax.vmap(loss, in_axes=(None, 0, 0))(w, xs, ys))

        def entry(w, xs, ys):
            return jax.value_and_grad(total)(w, xs, ys)

        def inputs():
            return jnp.ones(3), jnp.ones((5, 4, 3)), jnp.ones((5, 4))
        """,
    "routes of a record, one of whose arrays is chosen by": """
        from typing import NamedTuple

        class Weights(NamedTuple):
            route: jax.Array
            experts: jax.Array

        def loss(weights, x, y):
            chances = jax.nn.softmax(x @ weights.route)
            which = jax.nn.one_hot(chances.argmax(-1), 2)  # GR010
            return jnp.mean((jnp.einsum("be,bd,ed->b", which, x, weights.experts) - y) ** 2)

        def entry(weights, x, y):
            return jax.grad(loss)(weights, x, y)

        def inputs():
            return Weights(jnp.ones((3, 2)), jnp.ones((2, 3))), jnp.ones((5, 3)), jnp.ones(5)
        """,
}

RIGHT = {
    "what keeps a level away from zero": """
        def level(x):
            distance = jnp.sum(x**2) - 1.0
            return distance + 1e-10 * jnp.sign(distance)

        normal = jax.grad(level)
        """,
    "a sum that starts at a number of Python's": """
        def evidence(scale, xs):
            def step(carry, x):
                position, total = carry
                term = jnp.log(jnp.cosh(scale * x))
                return (position + x, total + term), term

            (_, total), _ = lax.scan(step, (jnp.zeros(()), 0), xs)
            return total

        def loss(scale, xs):
            return 0.1 * scale**2 - evidence(scale, xs)

        gradient = jax.grad(loss)
        """,
    "a fraction": """
        def loss(w, x):
            turns = x @ w
            return jnp.mean(turns - jnp.floor(turns)) + jnp.sum(w**2)

        gradient = jax.grad(loss)
        """,
    "a support": """
        def negative_log_density(z):
            inside = jnp.where(jnp.all(jnp.abs(z) < 1.0), 0.0, jnp.inf)
            return 0.5 * jnp.sum(z**2) + inside

        def leap(z, momentum):
            return momentum - 0.1 * jax.grad(negative_log_density)(z)
        """,
    "the value of what is drawn, beside its score": """
        def loss(w, key, x, table):
            logits = x @ w
            action = jax.random.categorical(key, logits)
            gain = jnp.sum(table[action])
            score = jnp.sum(jax.nn.log_softmax(logits)[jnp.arange(x.shape[0]), action])
            return score * stop_gradient(gain) + gain

        gradient = jax.grad(loss)
        """,
    "a term that is stopped in words": """
        def loss(w, x):
            y = x @ w
            return jnp.sum(y**2) + jnp.sum(jnp.round(stop_gradient(y)))

        gradient = jax.grad(loss)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")
