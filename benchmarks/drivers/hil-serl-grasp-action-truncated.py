"""Update the critics of a robot arm whose gripper is learned by Q-learning."""
# ruff: noqa: E402

from functools import partial

# These look into tensorflow if there is one, so they come before the blank one.
import distrax  # noqa: F401
import flax.training.checkpoints  # noqa: F401
from stand_ins import blank, old_jax, on_path, package, run

old_jax()
on_path("serl_launcher")
package("serl_launcher.agents", "serl_launcher/serl_launcher/agents")
package("serl_launcher.agents.continuous", "serl_launcher/serl_launcher/agents/continuous")
blank("einops", "imageio", "matplotlib", "requests", "tensorflow", "wandb")

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.core import FrozenDict
from serl_launcher.agents.continuous.sac_hybrid_single import SACAgentHybridSingleArm
from serl_launcher.networks.actor_critic_nets import Critic, GraspCritic, Policy, ensemblize
from serl_launcher.networks.lagrange import GeqLagrangeMultiplier
from serl_launcher.networks.mlp import MLP

FEATURES, ACTIONS, BATCH = 4, 7, 5

AXES = {
    "batch": FrozenDict(
        observations={"state": "batch feature"},
        next_observations={"state": "batch feature"},
        actions="batch action",
        rewards="batch",
        masks="batch",
        grasp_penalty="batch",
    )
}


Backbone = partial(MLP, hidden_dims=[8], activate_final=True)


class Proprioception(nn.Module):
    """The arm's own state, which is all that these networks see."""

    @nn.compact
    def __call__(self, observations, train=False, stop_gradient=False):
        return observations["state"]


def entry(agent, batch):
    return agent.update(batch, networks_to_update=frozenset({"critic", "grasp_critic"}))


def inputs():
    keys = jax.random.split(jax.random.key(0), 6)
    observations = {"state": jax.random.normal(keys[0], (BATCH, FEATURES))}
    actions = jax.random.uniform(keys[1], (BATCH, ACTIONS), minval=-1.0, maxval=1.0)
    # What the gripper was told: to close, to stay, to open.
    actions = actions.at[:, -1].set(jnp.array([-0.98, 0.0, 0.9999, 1.0, -1.0]))
    agent = SACAgentHybridSingleArm.create(
        keys[2],
        observations,
        actions,
        actor_def=Policy(
            encoder=Proprioception(),
            network=Backbone(),
            action_dim=ACTIONS - 1,
            tanh_squash_distribution=True,
        ),
        critic_def=Critic(encoder=Proprioception(), network=ensemblize(Backbone, 2)()),
        grasp_critic_def=GraspCritic(encoder=Proprioception(), network=Backbone()),
        temperature_def=GeqLagrangeMultiplier(init_value=0.5),
        image_keys=("state",),
    )
    batch = FrozenDict(
        observations=observations,
        next_observations={"state": jax.random.normal(keys[3], (BATCH, FEATURES))},
        actions=actions,
        rewards=jax.random.normal(keys[4], (BATCH,)),
        masks=jnp.array([1.0, 0.0, 1.0, 1.0, 0.0]),
        grasp_penalty=-0.1 * jax.random.uniform(keys[5], (BATCH,)),
    )
    return agent, batch


if __name__ == "__main__":
    run(entry, inputs)
