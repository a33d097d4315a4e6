"""A step of the optimizer, which synchronises its curvature estimate every other time."""

import jax
import jax.numpy as jnp
from stand_ins import blank, on_path, package, run, stand_in


class Curvature:
    """A diagonal estimate; the project's own rewrite programs of a JAX of that time."""

    State = dict

    def __init__(self, *args, **kwargs):
        self.func = kwargs.get("func") or args[0]

    def init(self, rng, func_args, **_):
        return jax.tree.map(jnp.ones_like, func_args[0])

    def update_curvature_matrix_estimate(self, state, ema_old, ema_new, func_args, **_):
        grads = jax.grad(self.func)(*func_args)
        return jax.tree.map(lambda s, g: ema_old * s + ema_new * g**2, state, grads)

    def sync(self, state, pmap_axis_name):
        return jax.lax.pmean(state, pmap_axis_name) if pmap_axis_name else state

    def update_cache(self, state, **_):
        return state

    def multiply_inverse(self, state, parameter_structured_vector, identity_weight, **_):
        scale = lambda v, s: v / (s + identity_weight)  # noqa: E731
        return jax.tree.map(scale, parameter_structured_vector, state)


on_path()
package("kfac_jax", "kfac_jax")
package("kfac_jax._src", "kfac_jax/_src")
blank("tree", "kfac_jax._src.curvature_estimator")
stand_in("jax.core", axis_frame=jax.lax.axis_size)
stand_in(
    "kfac_jax._src.curvature_estimator",
    BlockDiagonalCurvature=Curvature,
    ImplicitExactCurvature=Curvature,
)

from kfac_jax._src.optimizer import Optimizer  # noqa: E402

BATCH, FEATURES = 5, 4


def loss_func(params, batch):
    return jnp.mean((jnp.tanh(batch["x"] @ params["w"] + params["b"]) - batch["y"]) ** 2)


optimizer = Optimizer(
    jax.value_and_grad(loss_func),
    l2_reg=0.0,
    learning_rate_schedule=lambda step: 0.1,
    momentum_schedule=lambda step: 0.9,
    damping_schedule=lambda step: 0.5,
    num_burnin_steps=0,
    inverse_update_period=2,
)


def entry(params, state, rng, batch):
    return optimizer.step(params, state, rng, batch=batch, global_step_int=0)


def inputs():
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    params = {"w": jax.random.normal(keys[0], (FEATURES,)), "b": jnp.asarray(0.2)}
    batch = {
        "x": jax.random.normal(keys[1], (BATCH, FEATURES)),
        "y": jax.random.uniform(keys[2], (BATCH,)),
    }
    return params, optimizer.init(params, keys[3], batch), keys[3], batch


if __name__ == "__main__":
    run(entry, inputs)
