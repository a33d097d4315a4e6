"""Terms of a loss: who is trained by which of them, and what stands for data."""

from __future__ import annotations

import pytest

from .claims import assert_claims
from .derived import with_inputs

WRONG = {
    "helper_right_for_the_other_term": """
        def pull(moving, anchor):
            return jnp.mean((moving - jax.lax.stop_gradient(anchor)) ** 2)
        def f(params, x, r, y, done):
            z = jnp.tanh(x @ params["w"])
            fixed = jax.lax.stop_gradient(params["v"])
            code = fixed[jnp.argmin(jnp.sum((z - fixed[None]) ** 2, 0))]
            learned = pull(code, z)  # GR011
            kept = pull(z, code)
            return jnp.mean((z[:, 0] - r) ** 2) + learned + 0.25 * kept

        def entry(*args): return jax.grad(f)(*args)
    """,
    "chosen_by_a_product": """
        def f(params, x, r, y, done):
            q = jnp.tanh(x @ params["w"])
            act = done.astype(int)
            now = jnp.sum(q * jax.nn.one_hot(act, q.shape[-1]), axis=-1)
            wanted = r + 0.9 * jnp.tanh(y @ params["w"]).max(-1)  # GR014
            return jnp.mean((now - wanted) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "difference_in_a_lane": """
        def value(params, obs): return jnp.tanh(obs @ params["w"]) @ params["v"]
        def error(params, x, r, y):
            return value(params, x) - (r + 0.9 * value(params, y))  # GR014
        def f(params, x, r, y, done):
            errors = jax.vmap(error, in_axes=(None, 0, 0, 0))(params, x, r, y)
            return jnp.mean(jnp.where(jnp.abs(errors) < 1, errors**2, 2 * jnp.abs(errors)))

        def entry(*args): return jax.grad(f)(*args)
    """,
    "wanted_distribution": """
        def f(params, x, r, y, done):
            logits = lambda x: jnp.tanh(x @ params["w"])
            wanted = jax.nn.softmax(logits(y)) * r[:, None]
            return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(logits(x)), -1))  # GR014

        def entry(*args): return jax.grad(f)(*args)
    """,
    "returns_by_scan": """
        def f(params, x, r, y, done):
            values = jnp.tanh(x @ params["w"]) @ params["v"]
            def back(after, inp):
                reward, value = inp
                after = reward + 0.9 * (0.2 * value + 0.8 * after)
                return after, after
            _, returns = lax.scan(back, values[-1], (r[:-1], values[1:]), reverse=True)
            return jnp.mean(jnp.square(values[:-1] - returns))  # GR014

        def entry(*args): return jax.grad(f)(*args)
    """,
    "prediction_stopped_instead": """
        def value(params, x):
            return jnp.tanh(x @ params["w"]) @ params["v"]

        def f(params, x, r, y, done):
            target = r + 0.9 * (1 - done) * value(params, y)  # GR014
            return jnp.mean((stop_gradient(value(params, x)) - target) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "error_in_one_line": """
        def value(params, x):
            return jnp.tanh(x @ params["w"]) @ params["v"]

        def f(params, x, r, y, done):
            delta = r + 0.9 * (1 - done) * value(params, y) - value(params, x)  # GR014
            return jnp.mean(jnp.square(delta))

        def entry(*args): return jax.grad(f)(*args)
    """,
    "absolute_and_mapped": """
        def value(params, x):
            return jnp.tanh(x @ params["w"]) @ params["v"]

        def one(params, x, r, y, done):
            target = r + 0.9 * value(params, y)  # GR014
            return jnp.abs(target - value(params, x))

        def f(params, *batch):
            return jnp.mean(jax.vmap(one, in_axes=(None, 0, 0, 0, 0))(params, *batch))

        def entry(*args): return jax.grad(f)(*args)
    """,
    "one_pass_over_time": """
        def f(params, x, r, y, done):
            values = jnp.tanh(x @ params["w"]) @ params["v"]
            target = r[:-1] + 0.9 * values[1:]  # GR014
            return jnp.mean((values[:-1] - target) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "discount_by_where": """
        def value(params, x):
            return jnp.tanh(x @ params["w"]) @ params["v"]

        def f(params, x, r, y, done):
            after = jnp.where(done > 0, 0.0, value(params, y))
            td = value(params, x) - (r + 0.99 * after)  # GR014
            return 0.5 * jnp.mean(td * td)

        def entry(*args): return jax.value_and_grad(f)(*args)
    """,
    "sums_of_products": """
        def f(params, x, r, y, done):
            log_probs = jax.nn.log_softmax(x @ params["w"])[:, 0]
            advantage = r - y[:, :2] @ params["v"]
            fit = jnp.vdot(advantage, advantage)
            return fit - jnp.einsum("t,t->", log_probs, advantage)  # GR015

        def entry(*args): return jax.grad(f)(*args)
    """,
    "advantages_by_scan": """
        def f(params, x, r, y, done):
            log_probs = jax.nn.log_softmax(x @ params["w"])[:, 0]
            values = y[:, :2] @ params["v"]
            def back(carry, inp):
                gain, after = carry
                reward, value = inp
                delta = reward + 0.9 * after - value
                gain = delta + 0.8 * gain
                return (gain, value), gain
            _, gains = lax.scan(back, (0.0, 0.0), (r, values), reverse=True)
            policy = -jnp.mean(log_probs * gains)  # GR015
            return policy + 0.5 * jnp.mean((values - r) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "wrong_factor_stopped": """
        def f(params, x, r, y, done):
            log_probs = jax.nn.log_softmax(x @ params["w"])[:, 0]
            advantage = r - y[:, :2] @ params["v"]
            policy = -jnp.mean(stop_gradient(log_probs) * advantage)  # GR015
            return policy + jnp.mean(advantage**2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "critic_recomputed": """
        def f(params, x, r, y, done):
            log_probs = jax.nn.log_softmax(x @ params["w"])[:, 0]
            advantage = r - y[:, :2] @ params["v"]
            policy = -jnp.mean(log_probs * advantage)  # GR015
            value = jnp.mean((y[:, :2] @ params["v"] - r) ** 2)
            return policy + 0.5 * value

        def entry(*args): return jax.grad(f)(*args)
    """,
    "normalised_and_clipped": """
        def f(params, x, r, y, done):
            ratio = jnp.exp(jax.nn.log_softmax(x @ params["w"])[:, 0] - done)
            values = y[:, :2] @ params["v"]
            advantage = r - values
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            clipped = jnp.clip(ratio, 0.8, 1.2) * advantage  # GR015
            policy = -jnp.mean(jnp.minimum(ratio * advantage, clipped))  # GR015
            return policy + 0.5 * jnp.mean(jnp.square(r - values))

        def entry(*args): return jax.grad(f)(*args)
    """,
    "encoder_never_pulled": """
        def f(params, x, r, y, done):
            z = x @ params["w"]
            code = params["v"][None, :] * r[:, None]
            a = jnp.mean((stop_gradient(z) - code) ** 2)  # GR012
            b = jnp.mean((code - stop_gradient(z)) ** 2)
            return a + 0.25 * b + jnp.mean((z @ params["v"] - r) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "classes_drawn_in_a_loop_whose_chances_nobody_asks_for": """
        def f(params, x, r, y, done):
            def turn(state, key):
                logits = state @ params["w"]
                chosen = jax.nn.one_hot(jax.random.categorical(key, logits), 2)  # GR011
                state = 0.9 * state + jnp.pad(chosen, ((0, 0), (0, 1)))
                chances = jax.nn.softmax(logits)
                return state, (state @ y[0], jnp.sum(chances**2, axis=-1))

            keys = jax.random.split(jax.random.key(0), 4)
            gains, even = jax.lax.scan(turn, x, keys)[1]
            return 0.1 * even.mean() - gains.mean()

        def entry(*args): return jax.grad(f)(*args)
    """,
    "both_by_one_helper": """
        def pull(moving, fixed): return jnp.mean((moving - stop_gradient(fixed)) ** 2)

        def loss(params, x, *_):
            z, code = x @ params["w"], 2.0 * params["v"][None, :]
            learn = pull(z, code)  # GR012
            return jnp.mean(z) + learn + 0.2 * pull(z, code)

        def entry(*args): return jax.grad(loss)(*args)
    """,
}

RIGHT = {
    "parameters_after_a_step_of_an_inner_loss": """
        def predict(params, x): return jnp.tanh(x @ params["w"] + params["v"][None])[:, 0]

        def inner(params, x, r): return jnp.mean((predict(params, x) - r) ** 2)

        def f(params, x, r, y, done):
            def step(params, _):
                slope = jax.grad(inner)(params, x, r)
                return jax.tree.map(lambda p, g: p - 0.1 * g, params, slope), None

            params = jax.lax.scan(step, params, None, 3)[0]
            return jnp.mean((y @ params["w"] + params["v"][None] - done[:, None]) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "scales_of_a_flow_that_come_from_the_layer_before": """
        def f(params, x, r, y, done):
            first = r - jnp.tanh(y @ params["w"])[:, 0]
            scale = jnp.exp(params["v"][0]) * jnp.tanh(params["v"][1] * first)
            second = done * jnp.exp(-scale)
            return jnp.mean(0.5 * first**2 + 0.5 * second**2 + scale)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "classes_drawn_in_a_loop_beside_their_chances": """
        def f(params, x, r, y, done):
            def turn(state, key):
                logits = state @ params["w"]
                chosen = jax.nn.one_hot(jax.random.categorical(key, logits), 2)
                state = 0.9 * state + jnp.pad(chosen, ((0, 0), (0, 1)))
                score = jnp.sum(chosen * jax.nn.log_softmax(logits), axis=-1)
                return state, (state @ y[0], score)

            keys = jax.random.split(jax.random.key(0), 4)
            gains, score = jax.lax.scan(turn, x, keys)[1]
            return -gains.mean() - jnp.mean(stop_gradient(gains) * score)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "two_softmaxes_of_the_same_logits": """
        def f(params, x, r, y, done):
            logits = x @ params["w"]
            one = jax.nn.softmax(logits)
            other = jax.nn.softmax(logits, axis=-1) @ params["v"]
            return jnp.mean(one**2) + jnp.mean((other - r) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "both_sides_of_a_square_are_trained": """
        def f(params, x, r, y, done):
            scale = jnp.exp(-params["v"][0])
            one, other = jnp.tanh(x @ params["w"]), jnp.tanh(y @ params["w"])
            near = scale * jnp.sum(one * other, axis=-1)
            return jnp.mean(jax.nn.softplus(near) - near) + 0.1 * jnp.mean((one - other) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "step_along_a_slope_that_is_no_multiple": """
        def path(params, t): return jnp.tanh(t @ params["w"]) @ params["v"]

        def loss(params, now, push, after, _):
            here, ahead = path(params, now), path(params, after)
            return jnp.mean((ahead - (here + 0.1 * (jnp.sin(here) + push))) ** 2)

        def entry(*args): return jax.grad(loss)(*args)
    """,
    "entropy_and_divergence": """
        def f(params, x, r, y, done):
            p, q = jnp.tanh(x @ params["w"]), jnp.tanh(y @ params["w"])
            gap = jax.nn.log_softmax(p) - jax.nn.log_softmax(q)
            entropy = jnp.sum(jax.nn.softmax(p) * r[:, None] * jax.nn.log_softmax(p))
            return jnp.sum(jax.nn.softmax(p) * gap) + entropy

        def entry(*args): return jax.grad(f)(*args)
    """,
    "step_of_a_solver": """
        def f(params, x, r, y, done):
            u = jnp.tanh(x @ params["w"]) @ params["v"]
            step = u[:-1] + 0.1 * (r[:-1] + 0.5 * u[:-1])
            return jnp.mean((u[1:] - step) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "support_and_samples": """
        def f(w, key, x):
            inside = jnp.where(jnp.all(jnp.abs(w) < 9.0), 0.0, -jnp.inf)
            action = jax.random.categorical(key, w)
            gain = x[action]
            score = jax.nn.log_softmax(w)[action] * stop_gradient(gain)
            return inside + score + gain - jnp.sum(w**2)

        def entry(w, x): return jax.grad(f)(w, jax.random.key(0), x)
    """,
    "target_network_in_the_same_tree": """
        def f(both, x):
            target = 0.9 * jnp.max(stop_gradient(both["target"]) * x)
            return jnp.mean((both["online"] * x - target) ** 2)

        def entry(w, x): return jax.grad(f)({"online": w, "target": w}, x)
    """,
    "semi_gradient": """
        def value(params, x):
            return jnp.tanh(x @ params["w"]) @ params["v"]

        def f(params, x, r, y, done):
            delta = r + 0.9 * stop_gradient(value(params, y)) - value(params, x)
            return jnp.mean(jnp.square(delta))

        def entry(*args): return jax.grad(f)(*args)
    """,
    "other_parameters_in_the_target": """
        def value(params, x):
            return jnp.tanh(x @ params["w"]) @ params["v"]

        def f(params, old, x, r, y, done):
            return jnp.mean((value(params, x) - (r + 0.9 * value(old, y))) ** 2)

        def entry(params, *rest):
            old = jax.tree.map(lambda p: 0.5 * p, params)
            return jax.grad(f)(params, old, *rest)
    """,
    "siamese": """
        def embed(params, x): return jnp.tanh(x @ params["w"]) @ params["v"]

        def f(params, x, r, y, done):
            return jnp.mean((embed(params, x) - embed(params, y)) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "regression_with_two_parts": """
        def f(params, x, r, y, done):
            one = jnp.tanh(x @ params["w"]) @ params["v"]
            two = 0.1 * jnp.tanh(y @ params["w"]) @ params["v"]
            return jnp.mean((r - one - two) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "stopped_advantage": """
        def f(params, x, r, y, done):
            log_probs = jax.nn.log_softmax(x @ params["w"])[:, 0]
            advantage = r - y[:, :2] @ params["v"]
            policy = -jnp.mean(log_probs * stop_gradient(advantage))
            return policy + jnp.mean(advantage**2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "advantage_of_a_separate_critic": """
        def f(params, x, r, y, done):
            log_probs = jax.nn.log_softmax(x @ params["w"])[:, 0]
            return -jnp.mean(log_probs * (r - stop_gradient(y[:, :2] @ params["v"])))

        def entry(*args): return jax.grad(f)(*args)
    """,
    "attention_and_auxiliary_loss": """
        def f(params, x, r, y, done):
            weights = jax.nn.softmax((x @ params["w"])[:, 0])
            values = y[:, :2] @ params["v"]
            pooled = jnp.sum(weights * values)
            return (pooled - 1.0) ** 2 + jnp.mean((values - r) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "gated_prediction": """
        def f(params, x, r, y, done):
            gate = jax.nn.sigmoid(x @ params["w"])[:, 0]
            return jnp.mean((gate * (y[:, :2] @ params["v"]) - r) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "uncertainty_weighting": """
        def f(params, x, r, y, done):
            log_var = (x @ params["w"])[:, 0]
            error = r - y[:, :2] @ params["v"]
            return jnp.mean(jnp.exp(-log_var) * error**2 + log_var)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "twin_critics": """
        def f(params, x, r, y, done):
            target = r + 0.9 * stop_gradient(y[:, 0] * params["w"][0, 0])
            q1 = x @ params["w"][:, 0]
            q2 = x @ params["w"][:, 1]
            first = jnp.mean((q1 - stop_gradient(target)) ** 2)
            second = jnp.mean((q2 - stop_gradient(target)) ** 2)
            return first + second

        def entry(*args): return jax.grad(f)(*args)
    """,
    "step_from_the_input": """
        def f(params, x, r, y, done):
            field = lambda x: jnp.tanh(x @ params["w"]) @ params["w"].T
            return jnp.mean((field(x) - (x + 0.1 * field(y))) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "distillation": """
        def f(params, x, r, y, done):
            teacher = stop_gradient(jax.nn.log_softmax(y @ params["w"]))
            student = jax.nn.log_softmax(x @ params["w"]) * params["v"][None, :]
            return jnp.sum(jnp.exp(teacher) * (teacher - student))

        def entry(*args): return jax.grad(f)(*args)
    """,
}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG)
def test_finds(program: str) -> None:
    assert_claims("grad", with_inputs(program))


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_stays_silent(program: str) -> None:
    assert_claims("grad", with_inputs(program))
