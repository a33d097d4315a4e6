"""Domain randomisation of what the Panda's camera sees, one model for each world."""

import types

import jax
import jax.numpy as jnp
from flax import struct
from stand_ins import blank, on_path, package, run, stand_in


def axis_angle_to_quat(axis, angle):
    return jnp.concatenate([jnp.cos(angle / 2).reshape(1), axis * jnp.sin(angle / 2)])


def quat_mul(u, v):
    scalar = u[0] * v[0] - u[1:] @ v[1:]
    return jnp.concatenate([scalar[None], u[0] * v[1:] + v[0] * u[1:] + jnp.cross(u[1:], v[1:])])


def rotate(vector, quat):
    turned = jnp.cross(quat[1:], vector) + quat[0] * vector
    return vector + 2 * jnp.cross(quat[1:], turned)


class Task:
    """The task's model, of which the names of three bodies are asked for."""

    def __init__(self):
        ids = {"floor": 0, "box": 3, "init_space": 4}
        geom = lambda name: types.SimpleNamespace(id=ids[name])  # noqa: E731
        self.mj_model = types.SimpleNamespace(geom=geom)


on_path()
blank("mujoco")
stand_in("mujoco.mjx", Model=object)
stand_in(
    "mujoco.mjx._src.math",
    axis_angle_to_quat=axis_angle_to_quat,
    quat_mul=quat_mul,
    rotate=rotate,
)
# The package's own `__init__` files load every robot.
PACKAGE = "mujoco_playground._src.manipulation.franka_emika_panda"
for depth in range(1, 5):
    name = ".".join(PACKAGE.split(".")[:depth])
    package(name, name.replace(".", "/"))
blank(f"{PACKAGE}.pick_cartesian")
stand_in(f"{PACKAGE}.pick_cartesian", PandaPickCubeCartesian=Task)

from mujoco_playground._src.manipulation.franka_emika_panda import randomize_vision  # noqa: E402

WORLDS, GEOMS = 3, 6


@struct.dataclass
class Model:
    """The fields of an mjx model that are randomised."""

    geom_rgba: jax.Array
    geom_matid: jax.Array
    cam_pos: jax.Array
    cam_quat: jax.Array
    light_pos: jax.Array
    light_dir: jax.Array
    light_directional: jax.Array
    light_castshadow: jax.Array

    def tree_replace(self, fields):
        return self.replace(**fields)


def entry(model):
    randomized, _ = randomize_vision.domain_randomize(model, WORLDS)
    return randomized


def inputs():
    model = Model(
        geom_rgba=jax.random.uniform(jax.random.key(1), (GEOMS, 4), minval=0.1, maxval=0.9),
        geom_matid=jnp.arange(GEOMS),
        cam_pos=jnp.array([[0.3, -0.1, 0.7]]),
        cam_quat=jnp.array([[0.8, 0.0, 0.6, 0.0]]),
        light_pos=jnp.array([[1.0, 0.2, 2.0]]),
        light_dir=jnp.array([[0.1, -0.2, -0.9]]),
        light_directional=jnp.array([0.0]),
        light_castshadow=jnp.array([1.0]),
    )
    return (model,)


if __name__ == "__main__":
    run(entry, inputs)
