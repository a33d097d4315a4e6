"""Evaluate a linear classifier on two padded batches with fedjax's own metrics."""

# ruff: noqa: E402 - what is imported has to be prepared first.

import sys

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("tensorflow", "tensorflow_federated", "h5py", "msgpack")
package("fedjax", "fedjax")
package("fedjax.core", "fedjax/core")
package("fedjax.experimental", "fedjax/experimental")

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import tensorflow_federated.simulation  # noqa: F401
from jax.example_libraries import optimizers

# Where this package was when the checkout was written.
sys.modules["jax.experimental.optimizers"] = jax.experimental.optimizers = optimizers

from fedjax.experimental import client_datasets, metrics, model

BATCH = {"x": "batch feature", "y": "batch", client_datasets.EXAMPLE_MASK_KEY: "batch"}
AXES = {"batches": [BATCH, BATCH]}

classifier = model.Model.new(
    init=lambda rng: {"w": jax.random.normal(rng, (3, 4)), "b": jnp.arange(4.0)},
    apply_for_train=lambda params, batch, rng: batch["x"] @ params["w"] + params["b"],
    apply_for_eval=lambda params, batch: batch["x"] @ params["w"] + params["b"],
    train_loss=lambda batch, predictions: metrics.unreduced_cross_entropy_loss(
        batch["y"], predictions
    ),
    eval_metrics={"accuracy": metrics.Accuracy(), "loss": metrics.CrossEntropyLoss()},
)


def entry(params, batches):
    return model.evaluate_model(classifier, params, batches)


def inputs():
    rng = np.random.default_rng(25)
    batches = [
        {
            "x": jnp.asarray(rng.normal(size=(5, 3))),
            "y": jnp.asarray(rng.integers(4, size=5)),
            client_datasets.EXAMPLE_MASK_KEY: jnp.arange(5) < size,
        }
        for size in (5, 3)
    ]
    return classifier.init(jax.random.PRNGKey(6)), batches


if __name__ == "__main__":
    run(entry, inputs)
