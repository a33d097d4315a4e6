"""Losses that are put together by functions, choices, stacks and sums, and not by operators."""

import pytest

from .claims import check_found, check_silent, each_of

NET = """
        def values(params, obs):
            return jnp.tanh(obs @ params["in"]) @ params["out"]

"""


def _fitted(chosen: str, target: str = "reward + 0.9 * values(params, after).max(-1)") -> str:
    """A prediction for the action that was taken, and a target without a stop."""
    return f"""{NET}
        def loss(params, obs, act, reward, done, after):
            q = values(params, obs)
            now = {chosen}
            wanted = {target}  # GR014
            return jnp.mean((now - wanted) ** 2)

        gradient = jax.grad(loss)
        """


@pytest.mark.parametrize(
    "chosen",
    [
        "jnp.sum(q * jax.nn.one_hot(act, q.shape[-1]), axis=-1)",
        "(jax.nn.one_hot(act, 3, dtype=q.dtype) * q).sum(-1)",
        "jnp.sum(jnp.multiply(q, act[:, None] == jnp.arange(3)), -1)",
        "(q * jnp.eye(3)[act]).sum(-1)",
        "(q * (jnp.arange(3) == act[:, None]).astype(jnp.float32)).sum(-1)",
    ],
)
def test_a_choice_by_a_product_is_a_prediction(chosen: str):
    check_found(_fitted(chosen), "grad")


@pytest.mark.parametrize(
    "target",
    [
        "lax.select(done, reward, reward + 0.9 * values(params, after).max(-1))",
        "jnp.add(reward, jnp.multiply(0.9, values(params, after).max(-1)))",
        "lax.add(reward, lax.mul(1.0 - done, values(params, after).max(-1)))",
        "jnp.subtract(reward, -0.9 * values(params, after).max(-1))",
        "lax.cond(done, lambda: reward, lambda: reward + 0.9 * values(params, after).max(-1))",
    ],
)
def test_a_target_is_one_however_it_is_put_together(target: str):
    check_found(_fitted("q[act]", target), "grad")


WRONG = {
    "norms and other even functions of a difference": f"""{NET}
        def first(params, obs, reward, after):
            error = reward + 0.9 * values(params, after) - values(params, obs)  # GR014
            return jnp.linalg.norm(error)

        def second(params, obs, reward, after):
            wanted = reward + 0.9 * values(params, after)  # GR014
            return jnp.log(jnp.cosh(wanted - values(params, obs))).mean()

        gradients = jax.grad(first), jax.grad(second)
        """,
    "terms that are summed up by Python": """
        def loss(params, obs, act, returns):
            value = jnp.tanh(obs @ params["in"]) @ params["value"]
            score = jax.nn.log_softmax(jnp.tanh(obs @ params["in"]) @ params["pi"])[act]
            losses = {
                "actor": -(score * (returns - value)).mean(),  # GR015
                "critic": jnp.square(returns - value).mean(),
            }
            return sum(losses.values()), losses

        gradient = jax.grad(loss, has_aux=True)
        """,
    "terms in an array, each with its weight": """
        def loss(params, obs, act, returns, weights):
            value = jnp.tanh(obs @ params["in"]) @ params["value"]
            score = jax.nn.log_softmax(jnp.tanh(obs @ params["in"]) @ params["pi"])[act]
            gain = jnp.subtract(returns, value)
            actor = -jnp.mean(lax.mul(score, gain))  # GR015
            return jnp.dot(weights, jnp.array([actor, jnp.mean(gain**2)]))

        gradient = jax.grad(loss)
        """,
    "the least of several products": """
        def loss(params, obs, act, returns, before):
            value = jnp.tanh(obs @ params["in"]) @ params["value"]
            score = jax.nn.log_softmax(jnp.tanh(obs @ params["in"]) @ params["pi"])[act]
            ratio, gain = jnp.exp(score - before), returns - value
            pair = [ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain]  # GR015
            return -jnp.stack(pair).min(0).mean() + jnp.square(gain).mean()

        gradient = jax.grad(loss)
        """,
    "a weight that the other term needs, far from where a helper gets it": """
        def surrogate(ratio, gain):
            return jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain)

        def loss(params, obs, act, returns, before):
            gain = returns - jnp.tanh(obs @ params["in"]) @ params["value"]
            scores = jax.nn.log_softmax(jnp.tanh(obs @ params["in"]) @ params["pi"])
            ratio = jnp.exp(scores[act] - before)
            critic = jnp.square(gain).mean()
            entropy = -jnp.mean(jnp.exp(scores) * scores)
            return critic - entropy - surrogate(ratio, gain).mean()  # GR015

        gradient = jax.grad(loss)
        """,
    "two terms that stop one side, as sums of what is negated": """
        def loss(params, x):
            z = x @ params["enc"]
            nearest = jnp.argmin(jnp.sum((z[:, None] + -params["book"]) ** 2, -1), -1)
            codes = params["book"][nearest]
            first = jnp.mean((z + -stop_gradient(codes)) ** 2)  # GR012
            second = jnp.mean((-stop_gradient(codes) + z) ** 2)
            through = z + stop_gradient(codes - z)
            return jnp.mean((through @ params["dec"] - x) ** 2) + first + 0.25 * second

        gradient = jax.grad(loss)
        """,
    "returns of a loop of Python's, and of a library": f"""{NET}
        import rlax

        def looped(params, obs, rewards):
            found, returns, later = values(params, obs), [], values(params, obs)[-1]
            for step in reversed(range(8)):
                later = rewards[step] + 0.9 * later
                returns.append(later)
            return jnp.mean((found[:-1] - jnp.stack(returns[::-1])) ** 2)  # GR014

        def called(params, obs, rewards, discounts):
            found = values(params, obs)
            returns = rlax.lambda_returns(rewards, discounts, found[1:], 0.9)
            return jnp.mean((found[:-1] - returns) ** 2)  # GR014

        gradients = jax.grad(looped), jax.grad(called)
        """,
    "a sum over what a generator gives": """
        def entry(w, first, second):
            def loss(w):
                return sum(jnp.mean(x @ w, axis=0) for x in (first, second))

            return jax.grad(loss)(w)  # GR201

        def inputs():
            return jnp.ones((3, 2)), jnp.ones((5, 3)), jnp.ones((5, 3))
        """,
}
RIGHT = {
    "a choice by a product, and a target that is constant": f"""{NET}
        def loss(params, old, obs, act, reward, after):
            q = values(params, obs)
            now = jnp.sum(q * jax.nn.one_hot(act, q.shape[-1]), axis=-1)
            wanted = jnp.add(reward, 0.9 * values(old, after).max(-1))
            return jnp.linalg.norm(jnp.subtract(now, wanted))

        gradient = jax.grad(loss)
        """,
    "returns of a library that stops them": f"""{NET}
        import rlax

        def loss(params, obs, rewards, discounts):
            found = values(params, obs)
            returns = rlax.lambda_returns(
                rewards, discounts, found[1:], 0.9, stop_target_gradients=True
            )
            return jnp.mean((found[:-1] - returns) ** 2)

        gradient = jax.grad(loss)
        """,
    "a step from where the prediction is made": """
        def field(params, x):
            return jnp.tanh(x @ params["in"]) @ params["out"]

        def implicit(params, x, speed, dt):
            ahead = x + dt * field(params, speed)
            return jnp.mean((field(params, x) - ahead) ** 2)

        def reshaped(params, x, speed, dt):
            ahead = x.reshape(-1, 4) + dt * field(params, speed)
            return jnp.mean((field(params, x) - ahead) ** 2)

        gradients = jax.grad(implicit), jax.grad(reshaped)
        """,
    "a value at a corner, and the way from there, by functions": """
        def height(place, grid):
            corner = jnp.floor(place).astype(int)
            part = jnp.subtract(place, corner)
            low = jnp.multiply(grid[corner], jnp.subtract(1.0, part))
            return jnp.add(low, jnp.multiply(grid[jnp.add(corner, 1)], part))

        gradient = jax.grad(height)
        """,
    "terms in an array that are stopped where they have to be": """
        def loss(params, obs, act, returns):
            value = jnp.tanh(obs @ params["in"]) @ params["value"]
            score = jax.nn.log_softmax(jnp.tanh(obs @ params["in"]) @ params["pi"])[act]
            gain = stop_gradient(returns - value)
            terms = jnp.array([-jnp.mean(score * gain), jnp.mean((returns - value) ** 2)])
            return jnp.sum(terms) + sum([terms[0], terms[1]])

        gradient = jax.grad(loss)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")
