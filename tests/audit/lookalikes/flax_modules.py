"""Modules of flax: a cell that resets under `nn.scan`, and a submodule that is mapped."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class ResettingCell(nn.Module):
    width: int

    @nn.compact
    def __call__(self, carry, inputs):
        x, resets = inputs
        carry = jnp.where(resets[:, None], self.fresh(x.shape[0]), carry)
        carry, out = nn.GRUCell(self.width)(carry, x)
        return carry, out

    def fresh(self, batch):
        return jnp.zeros((batch, self.width))


class Memory(nn.Module):
    width: int

    @nn.compact
    def __call__(self, carry, inputs):
        scanned = nn.scan(
            ResettingCell,
            variable_broadcast="params",
            split_rngs={"params": False},
            in_axes=0,
            out_axes=0,
        )
        return scanned(self.width)(carry, inputs)


class Mixer(nn.Module):
    """Each column of a sequence goes through one and the same network."""

    width: int

    def setup(self):
        self.embed = nn.Dense(self.width)
        self.seq = nn.Sequential([nn.Dense(self.width), nn.relu, nn.Dense(self.width)])

    def __call__(self, x):
        x = self.embed(x)
        return x + jax.vmap(self.seq, in_axes=1, out_axes=1)(x)


class ActorCritic(nn.Module):
    width: int
    actions: int

    @nn.compact
    def __call__(self, carry, inputs):
        obs, dones = inputs
        obs = Mixer(self.width)(obs)
        carry, hidden = Memory(self.width)(carry, (obs, dones))
        logits = nn.Dense(self.actions)(nn.relu(hidden))
        return carry, logits, nn.Dense(1)(nn.relu(hidden))[..., 0]


def loss_fn(params, model, carry, batch):
    obs, dones, actions, targets = batch
    _, logits, values = model.apply(params, carry, (obs, dones))
    log_probs = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)
    advantages = jax.lax.stop_gradient(targets - values)
    return jnp.mean((values - targets) ** 2) - jnp.mean(log_probs[..., 0] * advantages)


def entry(key):
    model = ActorCritic(8, 3)
    keys = jax.random.split(key, 4)
    obs = jax.random.normal(keys[0], (5, 4, 6))
    dones = jax.random.bernoulli(keys[1], 0.2, (5, 4))
    actions = jax.random.randint(keys[2], (5, 4), 0, 3)
    carry = jnp.zeros((4, 8))
    params = model.init(keys[3], carry, (obs, dones))
    batch = (obs, dones, actions, obs.sum(axis=-1))
    return jax.value_and_grad(loss_fn)(params, model, carry, batch)


def inputs():
    return (jax.random.key(0),)
