"""Domain randomisation of the G1 robot, one model for each environment."""

import jax
from flax import struct
from stand_ins import blank, on_path, package, run, stand_in

on_path()
blank("mujoco")
stand_in("mujoco.mjx", Model=object)
# The package's own `__init__` files load every robot.
for name in ("", "._src", "._src.locomotion", "._src.locomotion.g1"):
    package("mujoco_playground" + name, "mujoco_playground" + name.replace(".", "/"))

from mujoco_playground._src.locomotion.g1.randomize import domain_randomize  # noqa: E402

JOINTS, BODIES, PAIRS, ENVIRONMENTS = 29, 31, 4, 3


@struct.dataclass
class Model:
    """The fields of an mjx model that are randomised."""

    pair_friction: jax.Array
    dof_frictionloss: jax.Array
    dof_armature: jax.Array
    body_mass: jax.Array
    qpos0: jax.Array
    nbody: int = struct.field(pytree_node=False)

    def tree_replace(self, fields):
        return self.replace(**fields)


def entry(model, rng):
    randomized, _ = domain_randomize(model, rng)
    return randomized


def inputs():
    keys = jax.random.split(jax.random.key(0), 5)
    model = Model(
        pair_friction=jax.random.uniform(keys[0], (PAIRS, 5), minval=1.1, maxval=1.5),
        dof_frictionloss=jax.random.uniform(keys[1], (6 + JOINTS,), minval=0.1),
        dof_armature=jax.random.uniform(keys[2], (6 + JOINTS,), minval=0.01, maxval=0.1),
        body_mass=jax.random.uniform(keys[3], (BODIES,), minval=0.5, maxval=4.0),
        qpos0=jax.random.normal(keys[4], (7 + JOINTS,)),
        nbody=BODIES,
    )
    return model, jax.random.split(jax.random.key(1), ENVIRONMENTS)


if __name__ == "__main__":
    run(entry, inputs)
