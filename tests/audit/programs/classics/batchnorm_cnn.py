"""A convolutional classifier in flax nnx, with batch normalisation and dropout."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

CLASSES = 3


class Block(nnx.Module):
    def __init__(self, channels_in, channels_out, rngs):
        self.conv = nnx.Conv(channels_in, channels_out, (3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(channels_out, momentum=0.9, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.norm(self.conv(x)))


class CNN(nnx.Module):
    def __init__(self, rngs):
        self.block1 = Block(1, 8, rngs)
        self.block2 = Block(8, 12, rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.head = nnx.Linear(12, CLASSES, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(self.block1(x), (2, 2), strides=(2, 2))
        x = self.block2(x).mean(axis=(1, 2))
        return self.head(self.dropout(x))


def loss_fn(model, images, labels):
    logits = model(images)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    return loss, logits


@nnx.jit
def entry(model, optimizer, metrics, images, labels):
    model.train()
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, images, labels)
    metrics.update(loss=loss, logits=logits, labels=labels)
    optimizer.update(model, grads)
    return loss


@nnx.jit
def evaluate(model, images, labels):
    model.eval()
    return (model(images).argmax(axis=-1) == labels).mean()


def shapes(rng, count, height=8, width=10):
    """A horizontal line, a vertical line or a diagonal on noise."""
    images = 0.3 * rng.normal(size=(count, height, width, 1)).astype(np.float32)
    labels = rng.integers(0, CLASSES, count)
    for image, label in zip(images, labels, strict=True):
        row, column = rng.integers(0, height - 4), rng.integers(0, width - 4)
        along = np.arange(5)
        rows = row + (0 if label == 0 else 1) * np.minimum(along, height - 1 - row)
        columns = column + (0 if label == 1 else 1) * along
        image[rows, columns] += 2.0
    return jnp.asarray(images), jnp.asarray(labels, jnp.int32)


def create(seed):
    model = CNN(nnx.Rngs(seed))
    optimizer = nnx.Optimizer(model, optax.adamw(5e-3), wrt=nnx.Param)
    metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
    return model, optimizer, metrics


def inputs():
    return *create(0), *shapes(np.random.default_rng(0), 5)


AXES = {"images": "batch height width channel", "labels": "batch"}


def check():
    rng = np.random.default_rng(1)
    model, optimizer, metrics = create(0)
    images, labels = shapes(rng, 16)
    before = np.asarray(model.block1.conv(images))
    entry(model, optimizer, metrics, images, labels)
    mean = 0.1 * before.mean(axis=(0, 1, 2))
    var = 0.9 + 0.1 * before.var(axis=(0, 1, 2))
    np.testing.assert_allclose(model.block1.norm.mean[...], mean, atol=1e-5)
    np.testing.assert_allclose(model.block1.norm.var[...], var, atol=1e-5)

    for step in range(80):
        if step == 60:
            metrics.reset()
        entry(model, optimizer, metrics, *shapes(rng, 32))
    summary = metrics.compute()
    assert summary["loss"] < 0.3, summary
    assert summary["accuracy"] > 0.9, summary
    images, labels = shapes(rng, 300)
    assert evaluate(model, images, labels) > 0.95
    assert evaluate(model, images, labels) == evaluate(model, images, labels)
