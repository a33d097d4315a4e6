"""Gumbel MuZero search with mctx in a learned model of a batch of roots."""

import jax
import jax.numpy as jnp
import mctx

OBS, STATE, ACTIONS = 4, 6, 3


def init_params(key):
    sizes = {
        "encode": (OBS, STATE),
        "policy": (STATE, ACTIONS),
        "value": (STATE,),
        "dynamics": (STATE, STATE),
        "action": (ACTIONS, STATE),
        "reward": (STATE,),
    }
    keys = jax.random.split(key, len(sizes))
    return {
        name: jax.random.normal(key, size) / size[0] ** 0.5
        for key, (name, size) in zip(keys, sizes.items(), strict=True)
    }


def recurrent_fn(params, key, action, state):
    state = jnp.tanh(state @ params["dynamics"] + params["action"][action])
    reward = jnp.tanh(state @ params["reward"])
    output = mctx.RecurrentFnOutput(
        reward=reward,
        discount=jnp.full_like(reward, 0.97),
        prior_logits=state @ params["policy"],
        value=state @ params["value"],
    )
    return output, state


@jax.jit
def entry(params, key, obs, invalid_actions):
    state = jnp.tanh(obs @ params["encode"])
    root = mctx.RootFnOutput(
        prior_logits=state @ params["policy"], value=state @ params["value"], embedding=state
    )
    output = mctx.gumbel_muzero_policy(
        params,
        key,
        root,
        recurrent_fn,
        num_simulations=12,
        invalid_actions=invalid_actions,
        max_num_considered_actions=ACTIONS,
    )
    return output.action, output.action_weights, output.search_tree.summary().value


def inputs():
    key, params_key, obs_key = jax.random.split(jax.random.key(0), 3)
    invalid_actions = jnp.zeros((5, ACTIONS), bool).at[0, 1].set(True)
    return init_params(params_key), key, jax.random.normal(obs_key, (5, OBS)), invalid_actions


AXES = {"obs": "batch obs", "invalid_actions": "batch action"}
