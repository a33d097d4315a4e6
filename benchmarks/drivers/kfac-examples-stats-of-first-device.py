"""A training step of the examples' experiment, which also evaluates averaged parameters."""

import os

import jax
import jax.numpy as jnp
import ml_collections
import more_itertools
import optax
from stand_ins import blank, on_path, package, run, stand_in

# The loss of the averaged parameters is computed on each of two devices, if none are in use yet.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")


class AxisNames:
    """The mapped axes of this moment, of which JAX no longer keeps a public list."""

    def __contains__(self, name):
        try:
            jax.lax.axis_size(name)
        except NameError:
            return False
        return True


def device_put_replicated(tree, devices):
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * len(devices)), tree)


class Curvature:
    """In place of the curvature estimators, which rewrite programs of a JAX of that time."""

    State = object


on_path()
package("kfac_jax", "kfac_jax")
package("kfac_jax._src", "kfac_jax/_src")
stand_in("jax", device_put_replicated=device_put_replicated)
stand_in("jax.core", unsafe_get_axis_names_DO_NOT_USE=AxisNames)
blank("jaxline", "tree", "kfac_jax._src.curvature_estimator")
stand_in("jaxline.experiment", AbstractExperiment=type("AbstractExperiment", (), {}))
stand_in(
    "kfac_jax._src.curvature_estimator",
    BlockDiagonalCurvature=Curvature,
    ImplicitExactCurvature=Curvature,
)

from kfac_jax._src import optimizer, utils  # noqa: E402

stand_in(
    "kfac_jax",
    optimizer=optimizer,
    utils=utils,
    Optimizer=optimizer.Optimizer,
    OptaxPreconditionState=object,
    OptaxPreconditioner=object,
)
package("examples", "examples")
blank("examples.datasets", "examples.optimizers", "tensorflow")
stand_in("tensorflow", data=stand_in("tensorflow.data"))
stand_in("examples.datasets", tf=stand_in("tensorflow"))

from examples import optax_wrapper, training  # noqa: E402

DEVICES = jax.local_device_count()
BATCH, FEATURES = 3, 4


learning_rate = optax.constant_schedule(1e-2)


def loss_func(params, batch, is_training):
    error = jnp.tanh(batch["x"] @ params["w"]) - batch["y"]
    return jnp.mean(error**2), {"largest_error": jnp.max(jnp.abs(error))}


class Experiment(training.SupervisedExperiment):
    """Regression, by Adam."""

    dataset_size = 60

    def create_optimizer(self):
        return optax_wrapper.OptaxWrapper(
            jax.value_and_grad(self.train_model_func, has_aux=True),
            value_func_has_aux=True,
            value_func_has_state=False,
            value_func_has_rng=False,
            learning_rate=learning_rate,
            optax_optimizer_ctor=optax.adam,
        )

    def _build_train_input(self, split, seed, device_batch_size, **_):
        raise NotImplementedError

    _build_eval_input = _build_train_input


sizes = {"total": -1, "per_device": BATCH}
config = ml_collections.ConfigDict(
    {
        "batch_size": {"train": sizes, "eval": sizes},
        "training": {"steps": 10, "epochs": None},
        "use_polyak_avg_with_decay_factor": 0.9,
        "log_train_stats_with_polyak_avg_every_n_steps": 1,
    }
)


def entry(params, polyak, opt_state, rng, batch):
    experiment = Experiment(
        "train",
        jax.random.PRNGKey(0),
        config,
        init_parameters_func=lambda rng, batch: None,
        model_loss_func=loss_func,
        has_aux=True,
        has_rng=False,
        has_func_state=False,
    )
    experiment._params, experiment._params_polyak = params, polyak
    experiment._opt_state = opt_state
    experiment._train_input = more_itertools.peekable([batch, batch])
    stats = experiment.train_step(jnp.asarray(0), rng)
    return experiment._params, stats


def inputs():
    keys = jax.random.split(jax.random.PRNGKey(1), 4)
    params = {"w": jax.random.normal(keys[0], (FEATURES,))}
    older = {"w": params["w"] + 0.1 * jax.random.normal(keys[1], (FEATURES,))}
    polyak = utils.WeightedMovingAverage(jnp.asarray(1.0), jax.tree.map(jnp.asarray, older))
    state = optax_wrapper.OptaxAndPreconditionState(optax.adam(learning_rate).init(params))
    copies = lambda tree: device_put_replicated(tree, jax.local_devices())  # noqa: E731
    batch = {
        "x": jax.random.normal(keys[2], (DEVICES, BATCH, FEATURES)),
        "y": jax.random.uniform(keys[3], (DEVICES, BATCH)),
    }
    rng = jax.random.split(jax.random.PRNGKey(2), DEVICES)
    return copies(params), copies(polyak), copies(state), rng, batch


if __name__ == "__main__":
    run(entry, inputs)
