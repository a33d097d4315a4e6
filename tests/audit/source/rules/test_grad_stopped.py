"""Losses in which what is stopped, and what is not, decides who learns from whom."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a helper that gets the prediction and the target, and takes views of both": """
        def pairwise(predicted, wanted):
            return jnp.mean(jnp.abs(wanted[:, None] - predicted[:, :, None]))

        def values(params, obs):
            return jnp.tanh(obs @ params["in"]) @ params["out"]

        def loss(params, obs, act, reward, after):
            now, later = values(params, obs)[act], values(params, after)
            scaled = reward + 0.9 * later[jnp.argmax(later)]  # GR014
            return pairwise(now, scaled)

        gradient = jax.grad(loss)
        """,
    "errors of one operand, each lane's made by a function": """
        def value(params, obs):
            return jnp.tanh(obs @ params["in"]) @ params["out"]

        def error(params, obs, reward, after):
            target = reward + 0.9 * value(params, after)  # GR014
            return value(params, obs) - target

        def loss(params, obs, reward, after):
            errors = jax.vmap(error, in_axes=(None, 0, 0, 0))(params, obs, reward, after)
            return optax.huber_loss(errors, delta=2.0).mean()

        def named(params, obs, reward, after):
            target = reward + 0.9 * value(params, after)  # GR014
            return optax.l2_loss(targets=target, predictions=value(params, obs)).mean()

        gradients = jax.grad(loss), jax.grad(named)
        """,
    "the wanted distribution of a cross-entropy": """
        def logits(params, obs):
            return jnp.tanh(obs @ params["in"]) @ params["out"]

        def loss(params, obs, moves, after):
            wanted = jnp.sum(jax.nn.softmax(logits(params, after))[:, :, None] * moves, axis=1)
            log_probs = jax.nn.log_softmax(logits(params, obs))
            return -(wanted * log_probs).sum(-1).mean()  # GR014

        gradient = jax.grad(loss)
        """,
    "the lesser of two critics, each trained towards it": """
        def value(critic, obs):
            return jnp.tanh(obs @ critic["in"]) @ critic["out"]

        def loss(critics, obs, reward, after):
            least = jnp.minimum(*[value(critic, after) for critic in critics])
            target = reward + 0.9 * least  # GR014
            errors = [value(critic, obs) - target for critic in critics]
            return sum(jnp.mean(error**2) for error in errors)

        gradient = jax.grad(loss)
        """,
    "data that is drawn for an example": """
        import numpy as np

        def loss(pair, obs, reward, after):
            predict = lambda w, x: jnp.tanh(x @ w)
            target = reward + 0.9 * predict(pair[0], after)  # GR014
            return jnp.mean((predict(pair[0], obs) - target) ** 2)

        def entry(*arguments):
            return jax.grad(loss)(*arguments)

        def inputs():
            rng = np.random.default_rng(0)
            draw = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)
            return (draw(3), draw(3)), draw(5, 3), draw(5), draw(5, 3)
        """,
    "codes that were taken from a stopped book": """
        def loss(params, x):
            z = jnp.tanh(x @ params["enc"])
            nearest = jnp.argmin(jnp.sum((z[:, None] - params["book"][None]) ** 2, -1), -1)
            codes = stop_gradient(params["book"])[nearest]
            book = jnp.mean((stop_gradient(z) - codes) ** 2)  # GR011
            commitment = jnp.mean((z - stop_gradient(codes)) ** 2)
            through = z + stop_gradient(codes - z)
            return jnp.mean((through @ params["dec"] - x) ** 2) + book + 0.25 * commitment

        gradient = jax.grad(loss)
        """,
    "returns of a scan over the values of one call": """
        def returns(rewards, discounts, values, trace):
            def back(after, step):
                reward, discount, value = step
                after = reward + discount * ((1 - trace) * value + trace * after)
                return after, after

            return lax.scan(back, values[-1], (rewards, discounts, values), reverse=True)[1]

        def loss(params, obs, rewards, discounts):
            values = jnp.tanh(obs @ params["trunk"]) @ params["head"]
            target = returns(rewards, discounts, values[1:], 0.9)
            return optax.huber_loss(values[:-1], target).mean()  # GR014

        gradient = jax.grad(loss)
        """,
    "an advantage in a sum of products": """
        def loss(params, obs, actions, returns):
            log_probs = jax.nn.log_softmax(obs @ params["pi"])
            taken = jax.vmap(jnp.take)(log_probs, actions)
            residual = returns - obs @ params["v"]
            score = jnp.einsum("t,t->", taken, residual)  # GR015
            return 0.5 * jnp.vdot(residual, residual) - score

        gradient = jax.grad(loss)
        """,
    "one of two views is stopped, each term in a function of its own": """
        @jax.jit
        def distance(prediction, view):
            return -jnp.mean(jnp.sum(prediction * view, axis=-1))

        def forward(params, one, two):
            return distance(one @ params["head"], lax.stop_gradient(two))

        def backward(params, one, two):
            return distance(two @ params["head"], one)  # GR019

        def loss(params, x, y):
            one, two = x @ params["body"], y @ params["body"]
            return forward(params, one, two) + backward(params, one, two)

        gradient = jax.grad(loss)
        """,
    "one of two views is stopped": """
        class Learner:
            def __init__(self, net):
                self.net = net

            def distance(self, prediction, target):
                return -jnp.mean(jnp.sum(prediction * target, axis=-1))

            def loss(self, params, first, second):
                one, two = self.net.apply(params, first), self.net.apply(params, second)
                p, q = jnp.tanh(one @ params["head"]), jnp.tanh(two @ params["head"])
                total = self.distance(p, two)  # GR019
                total += self.distance(q, lax.stop_gradient(one))
                return total

            def update(self, params, first, second):
                return jax.value_and_grad(self.loss)(params, first, second)
        """,
    "the target of a factory's loss, through a module from outside": """
        def make_update(net, tx, gamma):
            def loss(params, batch):
                q = net.apply(params, batch["obs"])
                chosen = jnp.take_along_axis(q, batch["action"][:, None], axis=-1).squeeze(-1)
                after = jnp.max(net.apply(params, batch["next_obs"]), axis=-1)
                target = batch["reward"] + gamma * (1 - batch["done"]) * after  # GR014
                return jnp.mean(optax.huber_loss(chosen, target)), after

            @jax.jit
            def update(params, state, batch):
                (value, _), grads = jax.value_and_grad(loss, has_aux=True)(params, batch)
                updates, state = tx.update(grads, state)
                return optax.apply_updates(params, updates), state, value

            return update
        """,
    "the advantage in a method that is differentiated as an attribute": """
        class Agent:
            def __init__(self):
                self.gradient = jax.grad(self.loss)

            def forward(self, params, obs):
                h = jnp.tanh(obs @ params["trunk"])
                return h @ params["pi"], (h @ params["v"])[:, 0]

            def loss(self, params, obs, returns, actions):
                logits, values = self.forward(params, obs)
                chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
                actor = -(chosen * (returns - values)).mean()  # GR015
                return actor + 0.5 * jnp.square(values - returns).mean()

            def step(self, params, obs, returns, actions):
                return self.gradient(params, obs, returns, actions)
        """,
    "both terms of a codebook, through one helper": """
        def mse(a, b):
            return jnp.mean(jnp.square(a - b))

        def loss(params, x):
            z = jax.nn.relu(x @ params["enc"])
            distances = jnp.linalg.norm(z[:, None] - params["book"], axis=-1)
            code = params["book"][jnp.argmin(distances, -1)]
            commit = mse(z, stop_gradient(code))  # GR012
            book = mse(z, stop_gradient(code))
            return mse((z + stop_gradient(code - z)) @ params["dec"], x) + commit + book

        step = jax.jit(jax.value_and_grad(loss))
        """,
    "an advantage that is stopped once and squared": """
        def loss(params, x, returns):
            advantage = stop_gradient(returns - x @ params["v"])
            policy = -jnp.mean(jax.nn.log_sigmoid(x @ params["pi"]) * advantage)
            return policy + 0.5 * jnp.mean(jnp.square(advantage))  # GR011

        gradient = jax.grad(loss)
        """,
    "the advantage of a network with two heads that is from outside": """
        def loss(params, apply, batch):
            logits, values = apply({"params": params}, batch["obs"])
            advantage = batch["returns"] - values
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["actions"][:, None], 1)
            actor = -jnp.mean(chosen[:, 0] * advantage)  # GR015
            return actor + 0.5 * jnp.mean(jnp.square(advantage))

        def step(params, apply, batch):
            return jax.grad(loss)(params, apply, batch)
        """,
    "the target of a module's own network": """
        import flax.linen as nn

        class Critic(nn.Module):
            def setup(self):
                self.hidden = nn.Dense(8)
                self.out = nn.Dense(1)

            def __call__(self, obs):
                return self.out(nn.relu(self.hidden(obs)))[:, 0]

        def loss(params, obs, after, reward):
            critic = Critic()
            target = reward + 0.99 * critic.apply(params, after)  # GR014
            return jnp.mean((critic.apply(params, obs) - target) ** 2)

        def step(params, obs, after, reward):
            return jax.grad(loss)(params, obs, after, reward)
        """,
    "the target of a network that haiku makes pure": """
        import haiku as hk

        net = hk.without_apply_rng(hk.transform(lambda obs: hk.nets.MLP([64, 1])(obs)[..., 0]))

        def loss(params, obs, after, reward):
            target = reward + 0.99 * net.apply(params, after)  # GR014
            return jnp.mean((net.apply(params, obs) - target) ** 2)

        def step(params, obs, after, reward):
            return jax.grad(loss)(params, obs, after, reward)
        """,
    "an advantage that a function made for it gets": """
        def surrogate(log_prob, advantage):
            return -jnp.mean(log_prob * advantage)

        def loss(params, x, returns):
            value = x @ params["v"]
            advantage = returns - value  # GR015
            policy = surrogate(jax.nn.log_sigmoid(x @ params["pi"]), advantage)
            return policy + jnp.mean((returns - x @ params["v"]) ** 2)

        def step(params, x, returns):
            return jax.grad(loss)(params, x, returns)
        """,
}

RIGHT = {
    "a step of a solver whose slope is no multiple of where it starts": """
        def path(params, t):
            return jnp.tanh(t[:, None] * params["in"]) @ params["out"]

        def loss(params, t, push):
            here, ahead = path(params, t), path(params, t + 0.1)
            stepped = here + 0.1 * (jnp.sin(here) + push)
            return jnp.mean((ahead - stepped) ** 2)

        gradient = jax.grad(loss)
        """,
    "errors of one operand towards what is stopped": """
        def value(params, obs):
            return jnp.tanh(obs @ params["in"]) @ params["out"]

        def loss(params, frozen, obs, reward, after):
            target = reward + 0.9 * value(frozen, after)
            other = stop_gradient(reward + 0.9 * value(params, after))
            errors = value(params, obs) - target
            return optax.huber_loss(errors).mean() + optax.l2_loss(value(params, obs), other).mean()

        gradient = jax.grad(loss)
        """,
    "an entropy, a divergence and posteriors": """
        def logits(params, x):
            return jnp.tanh(x @ params["in"]) @ params["out"]

        def loss(params, x, mask, likelihoods):
            own = logits(params, x)
            entropy = -jnp.sum(jax.nn.softmax(own) * mask * jax.nn.log_softmax(own))
            posterior = jax.nn.softmax(jax.nn.log_softmax(own) + likelihoods)
            fit = -jnp.sum(posterior * mask * jax.nn.log_softmax(own))
            return fit - 0.1 * entropy

        gradient = jax.grad(loss)
        """,
    "the same distribution for two views": """
        def logits(params, x):
            return jnp.tanh(x @ params["in"]) @ params["out"]

        def loss(params, one, two):
            p, q = logits(params, one), logits(params, two)
            gap = jax.nn.log_softmax(p) - jax.nn.log_softmax(q)
            return jnp.sum(jax.nn.softmax(p) * gap) - jnp.sum(jax.nn.softmax(q) * gap)

        gradient = jax.grad(loss)
        """,
    "a book of codes that a distance reads with one more axis": """
        def loss(params, x):
            z = jnp.tanh(x @ params["enc"])
            nearest = jnp.argmin(jnp.sum((z[:, None] - params["book"][None]) ** 2, -1), -1)
            codes = params["book"][nearest]
            book = jnp.mean((stop_gradient(z) - codes) ** 2)
            commitment = jnp.mean((z - stop_gradient(codes)) ** 2)
            through = z + stop_gradient(codes - z)
            return jnp.mean((through @ params["dec"] - x) ** 2) + book + 0.25 * commitment

        def entry(params, x):
            return jax.grad(loss)(params, x)

        def inputs():
            params = {"enc": jnp.ones((4, 2)), "book": jnp.ones((3, 2)), "dec": jnp.ones((2, 4))}
            return params, jnp.ones((5, 4))
        """,
    "a step of a solver in time": """
        def loss(params, times, source):
            u = jnp.tanh(times @ params["w"]) @ params["v"]
            step = u[:-1] + 0.1 * (source + 0.5 * u[:-1])
            return jnp.mean((u[1:] - step) ** 2)

        gradient = jax.grad(loss)
        """,
    "terms that stop different sides, or have data for a target": """
        def distance(one, other):
            return jnp.mean((one - other) ** 2)

        def loss(params, x):
            z = x @ params["encoder"]
            code = params["codes"][jnp.argmin(z, axis=-1)]
            passed = z + lax.stop_gradient(code - z)
            codes = distance(code, lax.stop_gradient(z)) + distance(lax.stop_gradient(code), z)
            return distance(passed @ params["decoder"], x) + codes

        gradient = jax.grad(loss)
        """,
    "a target by other parameters, one that is stopped, one outside": """
        def loss(params, target_params, now, reward, after, fixed):
            value = jnp.tanh(now @ params["w"])
            one = reward + 0.9 * jnp.tanh(after @ target_params["w"])
            two = stop_gradient(reward + 0.9 * jnp.tanh(after @ params["w"]))
            return jnp.mean((value - one) ** 2 + (value - two) ** 2 + (value - fixed) ** 2)

        gradient = jax.grad(loss)
        """,
    "a residual of an equation is no target": """
        def field(params, t):
            return jnp.tanh(t * params["a"]) @ params["b"]

        def loss(params, t, force):
            u = jax.vmap(lambda t: field(params, t))(t)
            du = jax.vmap(jax.grad(field, argnums=1), in_axes=(None, 0))(params, t)
            return jnp.mean((du - (force - 0.3 * u)) ** 2)

        gradient = jax.grad(loss)
        """,
    "the weight is stopped, the error is not": """
        def loss(params, x, returns):
            advantage = returns - x @ params["v"]
            policy = jax.nn.log_sigmoid(x @ params["pi"]) * stop_gradient(advantage)
            return -jnp.mean(policy) + jnp.mean(advantage**2)

        gradient = jax.grad(loss)
        """,
    "a square of something stopped, on purpose": """
        def loss(x, project):
            p = stop_gradient(project(x))
            return jnp.dot(x, p) - 0.5 * jnp.dot(p, p)

        gradient = jax.grad(loss)
        """,
    "a module's own network, with the target of other parameters": """
        import flax.linen as nn

        class Critic(nn.Module):
            @nn.compact
            def __call__(self, obs):
                scale = self.param("scale", nn.initializers.ones, (3,))
                return nn.Dense(1)(nn.relu(nn.Dense(8)(obs * scale)))[:, 0]

        def loss(params, old, obs, after, reward):
            critic = Critic()
            target = reward + 0.99 * critic.apply(old, after)
            return jnp.mean((critic.apply(params, obs) - target) ** 2)

        def step(params, old, obs, after, reward):
            return jax.grad(loss)(params, old, obs, after, reward)
        """,
    "branches of which only one is taken": """
        def margins(chosen, rejected, beta, alpha):
            if alpha != 0.0:
                logits = (1.0 - jnp.exp(chosen)) / alpha - (1.0 - jnp.exp(rejected)) / alpha
            else:
                logits = chosen - rejected
            return jnp.square(logits - 1.0 / (2.0 * beta))

        def loss(params, good, bad, beta, alpha):
            chosen, rejected = jnp.tanh(good @ params), jnp.tanh(bad @ params)
            return margins(chosen, rejected, beta, alpha).mean()

        gradient = jax.grad(loss)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")
