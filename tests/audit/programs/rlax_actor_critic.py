"""A step of an advantage actor-critic with rlax's losses and V-trace, on a batch of rollouts."""

import jax
import jax.numpy as jnp
import optax
import rlax

OBS, ACTIONS, HIDDEN = 4, 3, 16
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.rmsprop(1e-3))


def init_params(key):
    torso_key, policy_key, value_key = jax.random.split(key, 3)
    return {
        "torso": jax.random.normal(torso_key, (OBS, HIDDEN)) / OBS**0.5,
        "policy": 0.01 * jax.random.normal(policy_key, (HIDDEN, ACTIONS)),
        "value": 0.1 * jax.random.normal(value_key, (HIDDEN,)),
    }


def apply(params, obs):
    hidden = jnp.tanh(obs @ params["torso"])
    return hidden @ params["policy"], hidden @ params["value"]


def rollout_loss(params, rollout):
    """The loss of one rollout of T steps, whose observations are T + 1."""
    logits, values = apply(params, rollout["obs"])
    logits = logits[:-1]
    rhos = rlax.categorical_importance_sampling_ratios(
        logits, rollout["behaviour_logits"], rollout["actions"]
    )
    vtrace = rlax.vtrace_td_error_and_advantage(
        jax.lax.stop_gradient(values[:-1]),
        jax.lax.stop_gradient(values[1:]),
        rollout["rewards"],
        rollout["discounts"],
        jax.lax.stop_gradient(rhos),
        0.95,
    )
    targets = vtrace.errors + jax.lax.stop_gradient(values[:-1])
    weights = jnp.ones_like(rollout["rewards"])
    policy_loss = rlax.policy_gradient_loss(
        logits, rollout["actions"], vtrace.pg_advantage, weights
    )
    value_loss = rlax.l2_loss(values[:-1], targets).mean()
    return policy_loss + 0.5 * value_loss + 0.01 * rlax.entropy_loss(logits, weights)


@jax.jit
def entry(params, opt_state, rollouts):
    def loss_fn(params):
        return jax.vmap(rollout_loss, in_axes=(None, 0))(params, rollouts).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def inputs():
    keys = jax.random.split(jax.random.key(0), 6)
    params = init_params(keys[0])
    batch, time = 5, 7
    rollouts = {
        "obs": jax.random.normal(keys[1], (batch, time + 1, OBS)),
        "behaviour_logits": jax.random.normal(keys[2], (batch, time, ACTIONS)),
        "actions": jax.random.randint(keys[3], (batch, time), 0, ACTIONS),
        "rewards": jax.random.normal(keys[4], (batch, time)),
        "discounts": 0.99 * jax.random.bernoulli(keys[5], 0.9, (batch, time)),
    }
    return params, OPTIMISER.init(params), rollouts


AXES = {
    "rollouts": {
        "obs": "batch time obs",
        "behaviour_logits": "batch time action",
        "actions": "batch time",
        "rewards": "batch time",
        "discounts": "batch time",
    }
}
