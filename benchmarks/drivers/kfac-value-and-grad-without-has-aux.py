"""A step of the examples' optimizer, for a model that has a state but no auxiliary output."""

import jax
import jax.numpy as jnp
from ml_collections import ConfigDict
from stand_ins import blank, on_path, package, run, stand_in


class AxisNames:
    """The mapped axes of this moment, of which JAX no longer keeps a public list."""

    def __contains__(self, name):
        try:
            jax.lax.axis_size(name)
        except NameError:
            return False
        return True


class Curvature:
    """In place of the curvature estimators, which rewrite programs of a JAX of that time."""

    State = object


on_path()
package("kfac_jax", "kfac_jax")
package("kfac_jax._src", "kfac_jax/_src")
blank("tree", "kfac_jax._src.curvature_estimator")
stand_in("jax.core", unsafe_get_axis_names_DO_NOT_USE=AxisNames)
curvature_estimator = stand_in(
    "kfac_jax._src.curvature_estimator",
    BlockDiagonalCurvature=Curvature,
    ImplicitExactCurvature=Curvature,
)

from kfac_jax._src import optimizer, utils  # noqa: E402

stand_in(
    "kfac_jax",
    curvature_estimator=curvature_estimator,
    optimizer=optimizer,
    utils=utils,
    CurvatureBlock=object,
    Optimizer=optimizer.Optimizer,
    OptaxPreconditionState=object,
    OptaxPreconditioner=object,
)
package("examples", "examples")

from examples import optimizers  # noqa: E402

DEVICES = jax.local_device_count()
BATCH, FEATURES = 5, 4


def loss_func(params, func_state, batch):
    mean = batch["x"].mean(0)
    func_state = {"mean": 0.9 * func_state["mean"] + 0.1 * mean}
    error = jnp.tanh((batch["x"] - mean) @ params["w"]) - batch["y"]
    return jnp.mean(error**2), func_state


def make_optimizer():
    return optimizers.create_optimizer(
        name="adam",
        config=ConfigDict(
            {"adam": {"b1": 0.8, "learning_rate_schedule": {"name": "fixed", "value": 0.01}}}
        ),
        train_model_func=loss_func,
        l2_reg=0.0,
        has_aux=False,
        has_func_state=True,
        has_rng=False,
        model_func_for_estimator=None,
        dataset_size=60,
        train_total_batch_size=BATCH * DEVICES,
        total_steps=10,
        total_epochs=None,
        schedule_free_config=ConfigDict({"enabled": False}),
    )


def entry(params, func_state, state, rng, batch):
    return make_optimizer().step(
        params, state, rng, iter([batch]), func_state=func_state, global_step_int=3
    )


def inputs():
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    copies = lambda x: jnp.stack([x] * DEVICES)  # noqa: E731
    params = {"w": copies(jax.random.normal(keys[0], (FEATURES,)))}
    func_state = {"mean": copies(jax.random.normal(keys[1], (FEATURES,)))}
    batch = {
        "x": jax.random.normal(keys[2], (DEVICES, BATCH, FEATURES)),
        "y": jax.random.uniform(keys[3], (DEVICES, BATCH)),
    }
    rng = jax.random.split(jax.random.PRNGKey(1), DEVICES)
    state = make_optimizer().init(params, rng, batch, func_state)
    return params, func_state, state, rng, batch


if __name__ == "__main__":
    run(entry, inputs)
