"""One update of the NAdamW baseline, on a small workload."""

import types

import jax
import jax.numpy as jnp
from stand_ins import blank, old_jax, on_path, package, run, stand_in

old_jax()
on_path()
blank("torch")
stand_in("torch.nn")
# The package's own `__init__` files read an installed version.
for name in ("algorithmic_efficiency", "baselines", "baselines.nadamw", "baselines.nadamw.jax"):
    package(name, name.replace(".", "/"))

from baselines.nadamw.jax import submission  # noqa: E402

DEVICES = jax.local_device_count()
BATCH, FEATURES, CLASSES = 5, 4, 3

hyperparameters = types.SimpleNamespace(
    learning_rate=1e-2,
    one_minus_beta1=0.1,
    beta2=0.99,
    weight_decay=0.01,
    warmup_factor=0.1,
    grad_clip=1.0,
    label_smoothing=0.1,
)


class Workload:
    """Classification by one layer."""

    step_hint = 50
    metrics_logger = None
    param_shapes = {  # noqa: RUF012
        "w": types.SimpleNamespace(shape_tuple=(FEATURES, CLASSES)),
        "b": types.SimpleNamespace(shape_tuple=(CLASSES,)),
    }

    def model_fn(self, params, batch, model_state, mode, rng, update_batch_norm):
        return jnp.tanh(batch["inputs"]) @ params["w"] + params["b"], model_state

    def loss_fn(self, label_batch, logits_batch, mask_batch, label_smoothing):
        labels = jax.nn.one_hot(label_batch, CLASSES)
        labels = (1 - label_smoothing) * labels + label_smoothing / CLASSES
        losses = -jnp.sum(labels * jax.nn.log_softmax(logits_batch), axis=-1)
        return {"summed": (losses * mask_batch).sum(), "n_valid_examples": mask_batch.sum()}


workload = Workload()
_, update_fn = submission.init_optimizer_state(workload, None, None, hyperparameters, None)


def entry(params, model_state, optimizer_state, batch, rng):
    (optimizer_state, _), params, model_state = submission.update_params(
        workload,
        params,
        None,
        model_state,
        hyperparameters,
        batch,
        None,
        (optimizer_state, update_fn),
        [],
        1,
        rng,
    )
    return params, model_state, optimizer_state


def inputs():
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = {
        "w": jax.random.normal(keys[0], (FEATURES, CLASSES)),
        "b": jax.random.normal(keys[1], (CLASSES,)),
    }
    optimizer_state, _ = submission.init_optimizer_state(
        workload, None, None, hyperparameters, None
    )
    batch = {
        "inputs": jax.random.normal(keys[2], (DEVICES, BATCH, FEATURES)),
        "targets": jnp.arange(DEVICES * BATCH).reshape(DEVICES, BATCH) % CLASSES,
        "weights": jnp.ones((DEVICES, BATCH)).at[:, -1].set(0.0),
    }
    params = jax.tree.map(lambda x: jnp.stack([x] * DEVICES), params)
    model_state = {"steps": jnp.full((DEVICES,), 7)}
    return params, model_state, optimizer_state, batch, jax.random.PRNGKey(1)


if __name__ == "__main__":
    run(entry, inputs)
