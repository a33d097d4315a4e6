"""One training step of DreamerV3 on a batch whose first steps only restore the recurrent state."""

# ruff: noqa: E402 - what is imported has to be prepared first.

import types

from stand_ins import blank, old_jax, on_path, package, run, stand_in

on_path()
old_jax()
blank("embodied.distr", "cloudpickle", "ruamel")
stand_in("ruamel.yaml", YAML=lambda typ: types.SimpleNamespace(load=lambda text: {}))
package("embodied", "embodied")
package("dreamerv3", "dreamerv3")

import embodied
import embodied.core
import jax
import jax.numpy as jnp
import numpy as np


class NoFile:
    """The file of the project's default settings; the settings are below."""

    def __init__(self, path):
        self.parent = self

    def __truediv__(self, name):
        return self

    def read(self):
        return ""


vars(embodied).update({k: v for k, v in vars(embodied.core).items() if not k.startswith("__")})
embodied.Path = NoFile

from dreamerv3 import ninjax as nj
from dreamerv3.agent import Agent

CONTEXT, STATE, GROUPS, CLASSES = 2, 8, 3, 4
net = {"units": 8, "act": "silu", "norm": "rms", "winit": "normal"}
blocks = {"block_fans": False, "block_norm": False}
head = {"layers": 1, **net, **blocks, "inputs": ["deter", "stoch"]}
moments = {"impl": "off", "rate": 0.01, "limit": 1e-8}
latent = {"deter": STATE, "hidden": 6, "stoch": GROUPS, "classes": CLASSES, "blocks": 2}
simple = {**net, "depth": 2, "mults": [1, 2], "layers": 1, "outer": True, "kernel": 5, "minres": 4}
config = embodied.Config(
    {
        "jax": {"jit": False},
        "replay": {
            "fracs": {"uniform": 1.0, "priority": 0.0, "recency": 0.0},
            "priosignal": "model",
        },
        "replay_context": CONTEXT,
        "loss_scales": {
            "dec_cnn": 1.0,
            "dec_mlp": 1.0,
            "reward": 1.0,
            "cont": 1.0,
            "dyn": 1.0,
            "rep": 0.1,
            "actor": 1.0,
            "critic": 1.0,
            "replay_critic": 0.3,
        },
        "opt": {
            "scaler": "rms",
            "lr": 1e-3,
            "eps": 1e-20,
            "momentum": True,
            "wd": 0.0,
            "warmup": 0,
            "globclip": 0.0,
            "agc": 0.3,
            "beta1": 0.9,
            "beta2": 0.999,
            "details": False,
            "pmin": 1e-3,
            "anneal": 0,
            "schedule": "constant",
        },
        "separate_lrs": False,
        "ac_grads": "none",
        "reset_context": 0.0,
        "replay_critic_loss": True,
        "replay_critic_grad": True,
        "replay_critic_bootstrap": "imag",
        "reward_grad": True,
        "dyn": {
            "typ": "rssm",
            "rssm": {
                **latent,
                **blocks,
                "act": "silu",
                "norm": "rms",
                "unimix": 0.01,
                "outscale": 1.0,
                "winit": "normal",
                "imglayers": 2,
                "obslayers": 1,
                "dynlayers": 1,
                "absolute": False,
                "cell": "blockgru",
            },
        },
        "enc": {"spaces": ".*", "typ": "simple", "simple": {**simple, "symlog": True}},
        "dec": {
            "spaces": ".*",
            "typ": "simple",
            "simple": {
                **simple,
                **blocks,
                "inputs": ["deter", "stoch"],
                "vecdist": "symlog_mse",
                "outscale": 1.0,
                "block_space": 2,
                "hidden_stoch": True,
                "space_hidden": 0,
            },
        },
        "rewhead": {**head, "dist": "symexp_twohot", "outscale": 0.0, "bins": 15},
        "conhead": {**head, "dist": "binary", "outscale": 1.0},
        "contdisc": True,
        "rssm_loss": {"free": 1.0},
        "actor": {**head, "minstd": 0.1, "maxstd": 1.0, "outscale": 0.01, "unimix": 0.01},
        "critic": {**head, "dist": "symexp_twohot", "outscale": 0.0, "bins": 15},
        "actor_dist_disc": "onehot",
        "actor_dist_cont": "normal",
        "imag_start": "all",
        "imag_repeat": 1,
        "imag_length": 3,
        "imag_unroll": False,
        "horizon": 333,
        "return_lambda": 0.95,
        "return_lambda_replay": 0.95,
        "slow_critic_update": 1,
        "slow_critic_fraction": 0.02,
        "retnorm": {"impl": "perc", "rate": 0.01, "limit": 1.0, "perclo": 5.0, "perchi": 95.0},
        "valnorm": moments,
        "advnorm": moments,
        "actent": 3e-4,
        "slowreg": 1.0,
        "slowtar": False,
    }
)
agent = Agent.inner(
    {
        "vector": embodied.Space(np.float32, (3,)),
        "reward": embodied.Space(np.float32),
        "is_first": embodied.Space(bool),
        "is_last": embodied.Space(bool),
        "is_terminal": embodied.Space(bool),
    },
    {"action": embodied.Space(np.int32, (), 0, 5), "reset": embodied.Space(bool)},
    config,
    name="agent",
)


def entry(params, data, carry, seed):
    return nj.pure(agent.train)(params, data, carry, seed=seed)


def inputs():
    rng = np.random.default_rng(29)
    batch, time = 2, CONTEXT + 4
    flags = np.zeros((3, batch, time), bool)
    flags[0, 0, 3] = flags[1, 0, 2] = flags[2, 0, 2] = True
    data = {
        "vector": rng.normal(size=(batch, time, 3)).astype(np.float32),
        "reward": rng.normal(size=(batch, time)).astype(np.float32),
        "is_first": flags[0],
        "is_last": flags[1],
        "is_terminal": flags[2],
        "action": rng.integers(5, size=(batch, time)).astype(np.int32),
        "deter": rng.normal(size=(batch, time, STATE)).astype(np.float32),
        "stoch": rng.integers(CLASSES, size=(batch, time, GROUPS)).astype(np.int32),
        "stepid": rng.integers(256, size=(batch, time, 20)).astype(np.uint8),
    }
    data = jax.tree_util.tree_map(jnp.asarray, data)
    seed = jnp.array([3, 5], jnp.uint32)
    _, (state, _) = nj.pure(agent.init_train)({}, batch, seed=seed)
    carry = state, {"action": jnp.array([4, 1], jnp.int32)}
    params = nj.init(agent.train)({}, data, carry, seed=seed)
    return params, data, carry, seed


if __name__ == "__main__":
    run(entry, inputs)
