"""A recurrent critic that forgets at resets, trained on advantages in one program."""

import jax
import jax.numpy as jnp
import optax


def gru(params, h, x):
    z = jax.nn.sigmoid(x @ params["xz"] + h @ params["hz"])
    r = jax.nn.sigmoid(x @ params["xr"] + h @ params["hr"])
    n = jnp.tanh(x @ params["xn"] + (r * h) @ params["hn"])
    return (1.0 - z) * n + z * h


def values_of(params, obs, resets):
    def cell(h, inp):
        x, reset = inp
        h = jnp.where(reset[:, None], 0.0, h)
        h = gru(params, h, x)
        return h, h @ params["head"]

    h = jnp.zeros((obs.shape[1], params["hz"].shape[0]))
    return jax.lax.scan(cell, h, (obs, resets))[1]


def advantages(rewards, dones, values, gamma=0.99, lam=0.95):
    def back(carry, inp):
        gae, following = carry
        reward, done, value = inp
        delta = reward + gamma * (1.0 - done) * following - value
        gae = delta + gamma * lam * (1.0 - done) * gae
        return (gae, value), gae

    zero = jnp.zeros_like(rewards[0])
    return jax.lax.scan(back, (zero, zero), (rewards, dones, values), reverse=True)[1]


def loss_fn(params, batch):
    values = values_of(params, batch["obs"], batch["resets"])
    gae = jax.lax.stop_gradient(advantages(batch["rewards"], batch["dones"], values))
    targets = jax.lax.stop_gradient(gae + values)
    return jnp.mean((values - targets) ** 2)


opt = optax.adam(1e-3)


@jax.jit
def train(params, opt_state, batches):
    def update(carry, batch):
        params, opt_state = carry
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
        updates, opt_state = opt.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), loss

    (params, opt_state), losses = jax.lax.scan(update, (params, opt_state), batches)
    return params, opt_state, losses


def entry(params, opt_state, batches):
    return train(params, opt_state, batches)


def inputs():
    keys = jax.random.split(jax.random.key(0), 8)
    names = ("xz", "xr", "xn", "hz", "hr", "hn")
    shapes = [(3 if name[0] == "x" else 6, 6) for name in names]
    drawn = map(jax.random.normal, keys, shapes)
    params = {name: 0.3 * x for name, x in zip(names, drawn, strict=True)}
    params["head"] = jnp.full(6, 0.1)
    obs = jax.random.normal(keys[6], (2, 7, 4, 3))
    dones = (jax.random.uniform(keys[7], (2, 7, 4)) < 0.2).astype(jnp.float32)
    resets = jnp.concatenate([jnp.zeros((2, 1, 4)), dones[:, :-1]], axis=1) > 0
    batch = {"obs": obs, "dones": dones, "resets": resets, "rewards": obs.sum(-1)}
    return params, opt.init(params), batch
