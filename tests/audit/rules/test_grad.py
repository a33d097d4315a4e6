"""Gradients: what loses them, what sends them the wrong way, and what only looks as if it did."""

from __future__ import annotations

import pytest

from .claims import assert_claims

VECTOR = "def inputs(): return jnp.arange(1.0, 4.0), jnp.ones(3)\n"
BATCH = (
    "def inputs(): return {'w': jnp.ones((3, 2)), 'v': jnp.ones(2)}, jnp.ones((5, 3)), "
    "jnp.ones(5), jnp.ones((5, 3)), jnp.zeros(5)\n"
)

BLOCKED = {
    "argmax": """
        def f(w, x):
            return x[jnp.argmax(w)]  # GR010

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "comparison": """
        def f(w, x):
            return jnp.mean((w > x).astype(jnp.float32))  # GR010

        def entry(w, x): return jax.value_and_grad(f)(w, x)
    """,
    "learned_threshold": """
        def f(params, x):
            kept = jnp.where(x > params["threshold"], x, 0.0)  # GR010
            return jnp.sum(kept * params["scale"])

        def entry(w, x): return jax.grad(f)({"threshold": w[0], "scale": w}, x)
    """,
    "rounding": """
        def f(w, x):
            q = jnp.round(w * 4) / 4  # GR010
            return jnp.sum((q - x) ** 2)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "everything_stopped": """
        def f(w, x):
            y = stop_gradient(w * x)  # GR010
            return jnp.sum(y**2)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "inside_vmap_and_scan": """
        def f(w, x):
            def step(total, e):
                return total + jnp.floor(w[0] * e), None  # GR010
            return lax.scan(step, 0.0, x)[0]

        def entry(w, x): return jax.vmap(lambda a: jax.grad(f)(w * a, x))(x)
    """,
    "accuracy_as_loss": """
        def f(w, x):
            hit = jnp.argmax(w * x) == 1  # GR010
            return -jnp.mean(hit.astype(jnp.float32))

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "dead_error": """
        def f(params, x, r, y, done):
            error = stop_gradient(r - x @ params["w"] @ params["v"])
            policy = -jnp.mean(jax.nn.log_sigmoid(x @ params["w"])[:, 0] * error)
            value = 0.5 * jnp.mean(error**2)  # GR011
            return policy + value

        def entry(*args): return jax.grad(f)(*args)
    """,
    "both_sides_stopped": """
        def f(params, x, r, y, done):
            z = jnp.tanh(x @ params["w"])
            codes = stop_gradient(params["v"])[jnp.argmin(z, -1)]
            book = jnp.mean((stop_gradient(z[:, 0]) - codes) ** 2)  # GR011
            return book + jnp.mean(z**2) + jnp.mean((r - z @ params["v"]) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
    "cost_from_a_table": """
        def f(w, x):
            cells = jnp.clip(w * 4.0, 0.0, 2.0).astype(jnp.int32)  # GR011
            return jnp.sum(jnp.diff(w) ** 2) + 0.5 * jnp.sum(x[cells])

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "routes_by_softmax": """
        def f(params, x):
            chances = jax.nn.softmax(params["route"] * x)
            which = jax.nn.one_hot(jnp.argmax(chances), 3)  # GR010
            return jnp.sum(which * params["experts"])

        def entry(w, x): return jax.grad(f)({"route": w, "experts": w}, x)
    """,
}

STRAIGHT = {
    "computed_twice": """
        def f(w, x):
            y = jnp.round(w) + stop_gradient(w - jnp.round(w))  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "subtracted": """
        def f(w, x):
            q = jnp.sign(w)
            return jnp.sum((q - stop_gradient(q - w)) * x)  # GR013

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "hard_sample": """
        def f(w, x):
            soft = jax.nn.softmax(w)
            hard = jax.nn.one_hot(jnp.argmax(soft), 3)
            y = stop_gradient(soft - hard) + hard  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "value_of_the_sample_cancels": """
        def f(w, x):
            soft = jax.nn.softmax(w)
            hard = jax.nn.one_hot(jnp.argmax(soft), 3)
            return jnp.sum((soft + hard - stop_gradient(hard)) * x)  # GR013

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "rounded_in_part": """
        def f(w, x):
            signs = jnp.mean(jnp.abs(w)) * jnp.where(w > 0, 1.0, -1.0)
            y = stop_gradient(w) - stop_gradient(signs) + signs  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "nothing_stopped": """
        def f(w, x):
            y = w + (jnp.round(w) - w)  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "uphill": """
        def f(w, x):
            y = stop_gradient(jnp.round(w) + w) - w  # GR013
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
}

TARGETS = {
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
}

WEIGHTS = {
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
}

SIDES = {
    "encoder_never_pulled": """
        def f(params, x, r, y, done):
            z = x @ params["w"]
            code = params["v"][None, :] * r[:, None]
            a = jnp.mean((stop_gradient(z) - code) ** 2)  # GR012
            b = jnp.mean((code - stop_gradient(z)) ** 2)
            return a + 0.25 * b + jnp.mean((z @ params["v"] - r) ** 2)

        def entry(*args): return jax.grad(f)(*args)
    """,
}

CUSTOM = {
    "factor": """
        @jax.custom_vjp
        def f(x): return jnp.sum(x**2)
        def fwd(x): return f(x), x
        def bwd(x, g):
            return (g * x,)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(f)(w * x)
    """,
    "a_rule_for_each_argument": """
        @jax.custom_jvp
        def f(x, y): return jnp.sum(x**2 * y)
        f.defjvps(
            lambda dx, out, x, y: jnp.sum(2 * x * y * dx),
            lambda dy, out, x, y: jnp.sum(x * dy),  # GR017
        )

        def entry(w, x): return jax.grad(f, argnums=(0, 1))(w, x)
    """,
    "wrong_function_in_the_middle": """
        @jax.custom_jvp
        def f(x): return jnp.sin(x)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), jnp.sin(x) * dx  # GR017

        def entry(w, x): return jax.vmap(jax.grad(f))(w * x)
    """,
    "what_two_derivatives_share_and_a_third_does_not": """
        @jax.custom_vjp
        def f(x, y, z): return jnp.tanh(x * y) + z**2
        def fwd(x, y, z):
            out = f(x, y, z)
            return out, (x, y, z, jnp.tanh(x * y))
        def bwd(saved, g):
            x, y, z, t = saved
            slope = g * (1 + t**2)  # GR017
            scale = 2 * g
            x_bar = slope * y
            y_bar = slope * x
            z_bar = scale * z
            return x_bar, y_bar, z_bar
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda *v: jnp.sum(f(*v)), argnums=(0, 1, 2))(w, x, w)
    """,
    "a_derivative_that_is_named_before_it_is_returned": """
        @jax.custom_vjp
        def f(x, y): return x**2 * y
        def fwd(x, y): return f(x, y), (x, y)
        def bwd(saved, g):
            x, y = saved
            x_bar = g * x * y  # GR017
            y_bar = g * x**2
            return x_bar, y_bar
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda *v: jnp.sum(f(*v)), argnums=(0, 1))(w, x)
    """,
    "a_root_by_steps_that_differentiate": """
        def gap(u, x): return u + 0.1 * u**3 - x

        @jax.custom_vjp
        def f(x):
            def newton(u, _):
                return u - jnp.linalg.solve(jax.jacfwd(gap)(u, x), gap(u, x)), None

            return jax.lax.scan(newton, jnp.zeros_like(x), length=6)[0]

        def fwd(x):
            u = f(x)
            return u, (u, x)
        def bwd(saved, g):
            u, x = saved
            adjoint = jnp.linalg.solve(jax.jacfwd(gap)(u, x).T, g)
            return jax.vjp(lambda y: gap(u, y), x)[1](adjoint)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda v: jnp.sum(f(v) ** 2))(w * x)
    """,
    "a_fixed_point_in_a_loop_without_a_known_end": """
        def step(u, x): return 0.4 * jnp.tanh(u) + x

        @jax.custom_vjp
        def f(x):
            def moves(pair): return jnp.max(jnp.abs(pair[0] - pair[1])) > 1e-5
            def turn(pair): return pair[1], step(pair[1], x)
            return jax.lax.while_loop(moves, turn, (x, step(x, x)))[1]

        def fwd(x):
            u = f(x)
            return u, (u, x)
        def bwd(saved, g):
            u, x = saved
            slope = 0.4 * (1 - jnp.tanh(u) ** 2)
            return (0.5 * g / (1 - slope),)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda v: jnp.sum(f(v) ** 2))(w * x)
    """,
    "mapped_inside": """
        @jax.custom_vjp
        def f(x): return jax.vmap(lambda e: e**3)(x)
        def fwd(x): return f(x), x
        def bwd(x, g):
            return (2 * x**2 * g,)  # GR017
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda w: jnp.sum(f(w) * x))(w)
    """,
    "not_summed": """
        @jax.custom_vjp
        def f(x, s): return x * s
        def fwd(x, s): return f(x, s), (x, s)
        def bwd(res, g):
            x, s = res
            return g * s, g * x  # GR016
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda s: jnp.sum(f(w, s)))(x[0])
    """,
    "one_too_few": """
        @jax.custom_vjp
        def f(x, s): return x * s
        def fwd(x, s): return f(x, s), (x, s)
        def bwd(res, g):
            x, s = res
            return (g * s,)  # GR016
        f.defvjp(fwd, bwd)

        def entry(w, x): return jax.grad(lambda s: jnp.sum(f(w, s)))(x)
    """,
    "tangent_of_another_shape": """
        @jax.custom_jvp
        def f(x): return jnp.sum(x**2)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), 2 * x * dx  # GR016

        def entry(w, x): return jax.grad(f)(w * x)
    """,
}

LOOPS = {
    "dynamic_bounds": """
        def f(w, n):
            return lax.fori_loop(0, n, lambda i, v: v * w[0], 1.0)  # GR018

        def entry(w, x): return jax.grad(f)(w, jnp.int32(x[0]))
    """,
}

FINE = {
    "nearest_images_of_all_pairs": """
        def energy(w, x):
            away = w[:, None] - w[None, :]
            nearest = away - 2.0 * jnp.round(away / 2.0)
            return jnp.sum(jnp.exp(-(nearest**2))) + jnp.sum(w * x)
        def entry(w, x): return jax.grad(energy)(w, x)
    """,
    "correct_straight_through": """
        def f(w, x):
            q = jnp.round(w)
            hard = jax.nn.one_hot(jnp.argmax(w), 3)
            soft = jax.nn.softmax(w)
            y = w + stop_gradient(q - w) + (stop_gradient(hard - soft) + soft)
            return jnp.sum(y * x)

        def entry(w, x): return jax.grad(f)(w, x)
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
    "surrogate_slopes": """
        def f(w, x):
            leaky = jnp.where(w > 0, w, 0.1 * w)
            a = stop_gradient(jnp.maximum(w, 0.0)) + leaky - stop_gradient(leaky)
            inside = w * (jnp.abs(w) < 1.0)
            b = stop_gradient(jnp.sign(w)) + inside - stop_gradient(inside)
            return jnp.sum((a + b) * x)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "target_network_in_the_same_tree": """
        def f(both, x):
            target = 0.9 * jnp.max(stop_gradient(both["target"]) * x)
            return jnp.mean((both["online"] * x - target) ** 2)

        def entry(w, x): return jax.grad(f)({"online": w, "target": w}, x)
    """,
    "greedy_action_beside_the_gradient": """
        def f(w, x):
            best = jnp.argmax(w * x)
            return jnp.log(jax.nn.softmax(w)[best]), best

        def entry(w, x): return jax.grad(f, has_aux=True)(w, x)
    """,
    "unused_parameter": """
        def f(params, x): return jnp.sum(params["a"] * x)

        def entry(w, x): return jax.grad(f)({"a": w, "b": w}, x)
    """,
    "relu_clip_max_sort": """
        def f(w, x):
            y = jax.nn.relu(w * x) + jnp.clip(w, 0, 1) + jnp.sort(w)
            return jnp.max(y) + jnp.sum(jnp.abs(y)) + jnp.sum(jnp.where(w > 0, w, x))

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "interpolated_table": """
        def f(w, x):
            i = jnp.floor(w[0]).astype(jnp.int32)
            return x[i] + (w[0] - i) * (x[i + 1] - x[i]) + jnp.sum(w)

        def entry(w, x): return jax.grad(f)(w, x)
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
    "surrogate_value": """
        def f(w, x):
            surrogate = jnp.sum(w * x)
            return surrogate + stop_gradient(jnp.sum(jnp.round(w)) - surrogate)

        def entry(w, x): return jax.grad(f)(w, x)
    """,
    "distillation": """
        def f(params, x, r, y, done):
            teacher = stop_gradient(jax.nn.log_softmax(y @ params["w"]))
            student = jax.nn.log_softmax(x @ params["w"]) * params["v"][None, :]
            return jnp.sum(jnp.exp(teacher) * (teacher - student))

        def entry(*args): return jax.grad(f)(*args)
    """,
    "forward_mode_through_while": """
        def entry(w, x):
            f = lambda w: lax.while_loop(lambda v: jnp.sum(v) < 50, lambda v: v * w, x)
            return jax.jvp(f, (w + 1,), (x,))
    """,
    "while_beside_the_gradient": """
        def f(w, x):
            n = lax.while_loop(lambda n: n < jnp.sum(x), lambda n: n + 1, 0)
            return jnp.sum(w * x) * n

        def entry(w, x): return jax.grad(f)(w, x)
    """,
}

RULES_THAT_ARE_MEANT = {
    "a_fixed_point": """
        def step(u, x): return 0.4 * jnp.tanh(u) + x

        @jax.custom_vjp
        def f(x):
            def moves(pair): return jnp.max(jnp.abs(pair[0] - pair[1])) > 1e-5
            def turn(pair): return pair[1], step(pair[1], x)
            return jax.lax.while_loop(moves, turn, (x, step(x, x)))[1]

        def fwd(x):
            u = f(x)
            return u, u
        def bwd(u, g): return (g / (1 - 0.4 * (1 - jnp.tanh(u) ** 2)),)
        f.defvjp(fwd, bwd)
    """,
    "a_loop_that_never_ends": """
        @jax.custom_vjp
        def f(x): return jax.lax.while_loop(lambda u: u[0] < 1e9, lambda u: 0.5 * u + x, x)
        def fwd(x): return f(x), None
        def bwd(_, g): return (3 * g,)
        f.defvjp(fwd, bwd)
    """,
    "a_bisection_whose_turns_have_another_derivative": """
        @jax.custom_vjp
        def f(x):
            def halve(bounds, _):
                low, high = bounds
                middle = (low + high) / 2
                below = middle + middle**3 < x
                return (jnp.where(below, middle, low), jnp.where(below, high, middle)), None

            start = -1 - jnp.abs(x), 1 + 2 * jnp.abs(x)
            return jax.lax.scan(halve, start, length=30)[0][0]

        def fwd(x):
            u = f(x)
            return u, u
        def bwd(u, g): return (g / (1 + 3 * u**2),)
        f.defvjp(fwd, bwd)
    """,
    "gradient_reversal": """
        @jax.custom_vjp
        def f(x): return x
        f.defvjp(lambda x: (x, None), lambda _, g: (-g,))
    """,
    "clipped_gradient": """
        @jax.custom_vjp
        def f(x): return jnp.sin(x)
        f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.clip(g, -0.1, 0.1) * jnp.cos(x),))
    """,
    "spike": """
        @jax.custom_jvp
        def f(x): return (x > 0).astype(x.dtype)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), dx / (1 + jnp.abs(x)) ** 2
    """,
    "straight_through_round": """
        @jax.custom_vjp
        def f(x): return jnp.round(x)
        f.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))
    """,
    "finite_at_zero": """
        @jax.custom_jvp
        def f(x): return jnp.sqrt(jnp.abs(x))
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            safe = jnp.where(x == 0, 1.0, x)
            return f(x), jnp.where(x == 0, 0.0, 0.5 * jnp.sign(x) / f(safe)) * dx
    """,
    "bounded_slope": """
        @jax.custom_jvp
        def f(x): return x**3
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), jnp.minimum(3 * x**2, 2.0) * dx
    """,
    "smooth_relu": """
        @jax.custom_jvp
        def f(x): return jnp.maximum(x, 0)
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), jax.nn.sigmoid(4 * x) * dx
    """,
    "not_differentiated_on_purpose": """
        @jax.custom_vjp
        def f(x): return jnp.exp(x)
        f.defvjp(lambda x: (jnp.exp(x), None), lambda _, g: (jnp.zeros_like(g),))
    """,
    "stable": """
        @jax.custom_jvp
        def f(x): return jnp.log(1 + jnp.exp(x))
        @f.defjvp
        def rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(x), (1 - 1 / (1 + jnp.exp(x))) * dx
    """,
    "implicit_with_a_loop_that_need_not_end": """
        @jax.custom_vjp
        def f(x): return lax.while_loop(lambda v: jnp.any(v != 1.5), lambda v: v + 1, x)
        f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x,))
    """,
    "with_static_argument": """
        @partial(jax.custom_vjp, nondiff_argnums=(1,))
        def f(x, n=2): return x**n
        def fwd(x, n): return x**n, x
        def bwd(n, x, g): return (n * x ** (n - 1) * g,)
        f.defvjp(fwd, bwd)
    """,
}

ENTRY = """
        def entry(w, x): return jax.grad(lambda w: jnp.sum(f(w) * x))(w)
"""

NOISY = {**BLOCKED, **STRAIGHT, **TARGETS, **WEIGHTS, **SIDES, **CUSTOM, **LOOPS}


def _with_inputs(program: str) -> str:
    from textwrap import dedent

    program = dedent(program)
    needs_batch = "def entry(*args)" in program or "def entry(params" in program
    return program + (BATCH if needs_batch else VECTOR)


@pytest.mark.parametrize("name", NOISY)
def test_finds(name: str) -> None:
    assert_claims("grad", _with_inputs(NOISY[name]))


@pytest.mark.parametrize("name", FINE)
def test_stays_silent(name: str) -> None:
    assert_claims("grad", _with_inputs(FINE[name]))


@pytest.mark.parametrize("name", RULES_THAT_ARE_MEANT)
def test_leaves_deliberate_rules_alone(name: str) -> None:
    assert_claims("grad", _with_inputs(RULES_THAT_ARE_MEANT[name] + ENTRY))


def test_says_how_wrong_a_rule_is() -> None:
    (found,) = assert_claims("grad", _with_inputs(CUSTOM["factor"])).issues
    assert "0.5 times" in found.current
    assert found.fix == "multiply it by 2"


def test_verifies_rules_and_estimators_that_are_right() -> None:
    report = assert_claims("grad", _with_inputs(RULES_THAT_ARE_MEANT["stable"] + ENTRY))
    assert {it.code for it in report.verified} == {"GR010", "GR017"}
    report = assert_claims("grad", _with_inputs(FINE["correct_straight_through"]))
    assert [it.code for it in report.verified] == ["GR010", "GR013", "GR013"]
