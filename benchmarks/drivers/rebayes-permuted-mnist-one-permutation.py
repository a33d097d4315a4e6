"""Make the tasks of permuted MNIST out of a handful of images."""

# ruff: noqa: E402 - what is imported has to be prepared first.

import numpy as np
from stand_ins import blank, old_jax, on_path, run, stand_in

on_path("", "demos/collas")
old_jax()
blank("augmax")

IMAGES = {"train[10%:]": 9, "train[:10%]": 6, "test": 7}


class Images:
    """What tensorflow_datasets builds for MNIST, but small and random."""

    def download_and_prepare(self):
        pass

    def as_dataset(self, split, batch_size):
        rng = np.random.default_rng(IMAGES[split])
        images = rng.integers(0, 256, (IMAGES[split], 28, 28, 1), dtype=np.uint8)
        return {"image": images, "label": rng.integers(0, 10, IMAGES[split])}


stand_in("tensorflow_datasets", builder=lambda *_, **__: Images(), as_numpy=lambda x: x)

import jax
from datasets import mnist_data


def entry(key):
    return mnist_data.load_permuted_mnist_dataset(
        n_tasks=4, ntrain_per_task=5, nval_per_task=2, ntest_per_task=3, key=key
    )


def inputs():
    return (jax.random.PRNGKey(11),)


if __name__ == "__main__":
    run(entry, inputs)
