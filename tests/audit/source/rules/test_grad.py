"""Gradients, as programs of other shapes than the rules' examples lose or spill them."""

import pytest

from .claims import claimed_and_found

WRONG = {
    "the target of a factory's loss, through a module from outside": """
        def make_update(net, tx, gamma):
            def loss(params, batch):
                q = net.apply(params, batch["obs"])
                chosen = jnp.take_along_axis(q, batch["action"][:, None], axis=-1).squeeze(-1)
                after = jnp.max(net.apply(params, batch["next_obs"]), axis=-1)
                target = batch["reward"] + gamma * (1 - batch["done"]) * after
                return jnp.mean(optax.huber_loss(chosen, target)), after  # GR014

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
    "an advantage that is stopped once and squared": """
        def loss(params, x, returns):
            advantage = stop_gradient(returns - x @ params["v"])
            policy = -jnp.mean(jax.nn.log_sigmoid(x @ params["pi"]) * advantage)
            return policy + 0.5 * jnp.mean(jnp.square(advantage))  # GR011

        gradient = jax.grad(loss)
        """,
    "no reduction after a map": """
        def loss(w, x, y):
            return jax.vmap(lambda a, b: (a @ w - b) ** 2)(x, y)

        gradient = jax.grad(loss)  # GR201
        """,
    "several values without has_aux": """
        def loss(w, x):
            out = x @ w
            return out.mean(), {"out": out}

        def update(w, x):
            return jax.value_and_grad(loss)(w, x)  # GR201
        """,
    "no pair with has_aux": """
        def update(w, x):
            return jax.grad(lambda w: jnp.mean(x @ w), has_aux=True)(w)  # GR201
        """,
    "an argument that is not there, and one that is an integer": """
        def loss(w, x):
            return jnp.sum(x @ w)

        def update(w, x):
            return jax.grad(loss, argnums=2)(w, x)  # GR202

        def slope():
            return jax.grad(lambda x: x**2)(3)  # GR202
        """,
    "names in the wrong order, or too many": """
        def loss_of(w, x):
            out = x @ w
            return out.mean(), out

        both = jax.jit(jax.value_and_grad(loss_of, has_aux=True))

        def one(w, x):
            loss, out, grads = both(w, x)  # GR203
            return grads

        def two(w, x):
            grads, loss = jax.value_and_grad(lambda w: jnp.mean(x @ w))(w)  # GR203
            return grads

        def three(w, x):
            loss, grads = jax.grad(lambda w: jnp.mean(x @ w))(w)  # GR203
            return grads
        """,
    "rules that take, unpack or return too much": """
        @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
        def scaled(n, x, y):
            return x * y * n

        def scaled_fwd(n, x, y):
            return x * y * n, (x, y, n)

        def scaled_bwd(n, res, g):
            x, y = res  # GR016
            return g * y, g * x

        scaled.defvjp(scaled_fwd, scaled_bwd)

        @jax.custom_vjp
        def shifted(x, y):
            return x + y

        def shifted_fwd(x):  # GR016
            return x, None

        def shifted_bwd(n, res, g):  # GR016
            return g, g

        shifted.defvjp(shifted_fwd, shifted_bwd)

        @jax.custom_vjp
        def single(x):
            return x

        def single_fwd(x):
            return x, None, 1  # GR016

        def single_bwd(res, g):
            return g, g  # GR016

        single.defvjp(single_fwd, single_bwd)
        """,
    "a while loop in reverse": """
        def root(theta, x):
            def body(state):
                x, r = state
                return x - r / theta, theta * x - 1.0
            return lax.while_loop(lambda s: s[1] > 1e-6, body, (x, jnp.ones(())))[0]  # GR018

        gradient = jax.grad(root)
        """,
    "choices that come too late": """
        def length(r):
            d2 = jnp.sum(r * r, -1)
            return jnp.sum(jnp.where(d2 > 0, jnp.sqrt(d2), 0.0))  # GR301

        def unit(x):
            n = jnp.linalg.norm(x)
            return jnp.sum(jnp.where(n == 0, 0.0, x / n))  # GR301

        forces, slopes = jax.grad(length), jax.vmap(jax.grad(unit))
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
            target = reward + 0.99 * critic.apply(params, after)
            return jnp.mean((critic.apply(params, obs) - target) ** 2)  # GR014

        def step(params, obs, after, reward):
            return jax.grad(loss)(params, obs, after, reward)
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
    "the gradient of the data, by which weights are changed": """
        def error(x, y, weights):
            return jnp.mean((x @ weights["w"] + weights["b"] - y) ** 2)

        def step(weights, batch, lr):
            x, y = batch
            slopes = jax.grad(error)(x, y, weights)  # GR204
            return jax.tree.map(lambda w, g: w - lr * g, weights, slopes)
        """,
    "the gradient of a latent, for the optimiser of a decoder": """
        import optax

        class Trainer:
            def __init__(self, lr):
                self.tx = optax.adam(lr)

            def loss(self, latent, decoder, image):
                return jnp.mean((jnp.tanh(latent @ decoder) - image) ** 2)

            def step(self, decoder, state, latent, image):
                value, slopes = jax.value_and_grad(self.loss)(latent, decoder, image)  # GR204
                updates, state = self.tx.update(slopes, state, decoder)
                return optax.apply_updates(decoder, updates), state, value
        """,
    "the target of a network that haiku makes pure": """
        import haiku as hk

        net = hk.without_apply_rng(hk.transform(lambda obs: hk.nets.MLP([64, 1])(obs)[..., 0]))

        def loss(params, obs, after, reward):
            target = reward + 0.99 * net.apply(params, after)
            return jnp.mean((net.apply(params, obs) - target) ** 2)  # GR014

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
    "distances of all pairs, each with itself among them": """
        def distances(points):
            return jnp.linalg.norm(points[:, None] - points[None, :], axis=-1)  # GR302

        def energy(points, mask):
            return jnp.sum(mask * distances(points) ** 3)

        def forces(points, mask):
            return -jax.grad(energy)(points, mask)
        """,
    "distances of all pairs, by maps": """
        def distance(a, b):
            return jnp.sqrt(((a - b) ** 2).sum())  # GR302

        def energy(points):
            pairs = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))(points, points)
            return jnp.exp(-pairs).sum()

        def forces(points):
            return -jax.grad(energy)(points)
        """,
    "a root of what is cut off": """
        class Model:
            def deviation(self, params, x):
                variance = jnp.maximum(x @ params["v"], 0.0)
                return jnp.sqrt(variance)  # GR302

            def loss(self, params, x):
                return jnp.mean(self.deviation(params, x))

            def step(self, params, x):
                return jax.grad(self.loss)(params, x)
        """,
    "a pair for an optimiser": """
        def fit(tx, loss, params, state, batch):
            pair = jax.value_and_grad(loss)(params, batch)
            updates, state = tx.update(pair, state)  # GR203
            return optax.apply_updates(params, updates), state
        """,
    "gradients that are unpacked with what a loss returns": """
        def fit(objective, params, batch):
            gradient = jax.value_and_grad(objective, has_aux=True)
            loss, (logits, grads) = gradient(params, batch)  # GR203
            return loss, logits, grads
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
    "gradients for two networks beside what a loss returns": """
        def fit(objective, actor, critic, batch):
            gradient = jax.value_and_grad(objective, argnums=[0, 1], has_aux=True)
            (loss, logs), (grads, other) = gradient(actor, critic, batch)
            return loss, logs, grads, other
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
    "a square of something stopped, on purpose": """
        def loss(x, project):
            p = stop_gradient(project(x))
            return jnp.dot(x, p) - 0.5 * jnp.dot(p, p)

        gradient = jax.grad(loss)
        """,
    "gradients of a pair are unpacked into a pair": """
        def update(w, b, x):
            dw, db = jax.grad(lambda p: jnp.mean(x @ p[0] + p[1]))((w, b))
            value, grads = jax.value_and_grad(lambda w: jnp.mean(x @ w))(w)
            grads, aux = jax.grad(lambda w: (jnp.mean(x @ w), w), has_aux=True)(w)
            return dw, db, grads
        """,
    "rules that fit, with defaults and arguments that are not differentiated": """
        @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
        def clipped(x, limit, slope=1.0):
            return x

        def fwd(x, limit, slope=1.0):
            return x, (x, slope)

        def bwd(limit, res, g):
            x, slope = res
            return jnp.clip(g, -limit, limit) * slope, None

        clipped.defvjp(fwd, bwd)

        @jax.custom_jvp
        def root(x):
            return jnp.sqrt(x)

        @root.defjvp
        def root_rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            y = root(x)
            return y, dx / (2 * y)

        def entry(x):
            return jax.grad(lambda x: jnp.sum(clipped(x, 2.0) + root(x)))(x)
        """,
    "loops that are not differentiated in reverse": """
        def root(theta, x):
            return lax.while_loop(lambda x: x > 1e-6, lambda x: x / theta, x)

        def bounded(theta, x):
            return lax.fori_loop(0, 8, lambda i, x: x / theta, x)

        forward = jax.jacfwd(root)
        stopped = jax.grad(lambda theta, x: theta * stop_gradient(root(theta, x)))
        backward = jax.grad(bounded)
        """,
    "choices before and after": """
        def length(r):
            d2 = jnp.sum(r * r, -1)
            ok = d2 > 0
            return jnp.sum(jnp.where(ok, jnp.sqrt(jnp.where(ok, d2, 1.0)), 0.0))

        forces = jax.grad(length)
        """,
    "integers beside the parameters": """
        def loss(w, label):
            return jnp.sum(w) - w[label]

        def total(*weights):
            return sum(jnp.sum(w) for w in weights)

        def update(w, *rest):
            return jax.grad(total, argnums=2)(w, *rest)

        def slope(w):
            return jax.grad(loss)(w, 3), jax.grad(lambda n: 2.0 * n, allow_int=True)(3)
        """,
    "a part of a dict that is put together from two": """
        def loss(gate, fixed, x):
            merged = {**fixed, **gate}
            return jnp.mean(jax.nn.sigmoid(x @ merged["gate"]) * (x @ merged["out"]))

        def step(gate, fixed, x):
            return jax.grad(loss)(gate, fixed, x)
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
    "distances of all pairs that are kept from zero": """
        def distances(points):
            apart = points[:, None] - points[None, :]
            squared = jnp.sum(apart**2, axis=-1)
            own = jnp.eye(points.shape[0], dtype=bool)
            return jnp.where(own, 0.0, jnp.sqrt(jnp.where(own, 1.0, squared)))

        def soft(points, others):
            apart = jnp.linalg.norm(points[:, None] - others[None, :], axis=-1)
            return apart + jnp.sqrt(jnp.sum((points[:, None] - points[None, :]) ** 2, -1) + 1e-9)

        def energy(points, others):
            bounded = jnp.sqrt(jnp.maximum(points[:, 0], 1e-6))
            return distances(points).sum() + soft(points, others).sum() + bounded.sum()

        def forces(points, others):
            return -jax.grad(energy)(points, others)
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
    "a momentum that changes by the slope at a position": """
        def energy(position, momentum):
            return jnp.sum(position["x"] ** 2) + jnp.sum(momentum["x"] ** 2)

        def leap(position, momentum, dt):
            slope = jax.grad(energy)(position, momentum)
            return jax.tree.map(lambda p, g: p - dt * g, momentum, slope)
        """,
    "the gradient at weights nearby": """
        import optax

        def first_order(tx, error, weights, state, noise, data):
            nearby = jax.tree.map(lambda w, n: w + n, weights, noise)
            slopes = jax.grad(error)(nearby, weights, data)
            updates, state = tx.update(slopes, state)
            return optax.apply_updates(weights, updates), state
        """,
    "a flag that may also be a function, which says what is given": """
        def with_slope(function, given):
            if isinstance(given, bool) and given:
                return function
            if isinstance(given, bool) and not given:
                return jax.value_and_grad(function)
            return given

        def search(x):
            function = jax.value_and_grad(lambda x: jnp.sum(x**2))
            return with_slope(function, True)(x)
        """,
    "weights that are adapted by steps along a gradient": """
        def forward(weights, x):
            return jnp.tanh(x @ weights["w"]) + weights["b"]

        def error(weights, x, y):
            return jnp.mean((forward(weights, x) - y) ** 2)

        def adapted(weights, x, y):
            def turn(inner, _):
                slopes = jax.grad(error)(inner, x, y)
                return jax.tree.map(lambda w, g: w - 0.01 * g, inner, slopes), None

            return jax.lax.scan(turn, weights, None, length=5)[0]

        def across(weights, task):
            return error(adapted(weights, task[0], task[1]), task[2], task[3])

        def outer(weights, task):
            return jax.grad(across)(weights, task)
        """,
    "gradients with respect to two arguments, for an optimiser": """
        def fit(tx, loss, params, scale, state, batch):
            grads = jax.grad(loss, argnums=(0, 1))(params, scale, batch)
            updates, state = tx.update(grads, state)
            return updates, state
        """,
}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG.keys())
def test_it_is_found(program: str):
    claimed, found = claimed_and_found(program, "grad")
    assert found == claimed


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_it_is_left_alone(program: str):
    _, found = claimed_and_found(program, "grad")
    assert not found
