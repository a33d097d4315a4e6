"""The loss of a point tracker, and its gradients, on a batch some of whose points are padding."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("tensorflow", "mediapy")
package("tapnet", "")

import jax
import jax.numpy as jnp
import numpy as np
from tapnet.utils import model_utils

FRAMES, HEIGHT, WIDTH = 5, 48, 64
AXES = {
    "points": "batch point frame _",
    "occlusion": "batch point frame",
    "expected_dist": "batch point frame",
    "target_points": "batch point frame _",
    "target_occ": "batch point frame",
    "mask": "batch point frame",
}


def entry(points, occlusion, expected_dist, target_points, target_occ, mask):
    def loss(points, occlusion, expected_dist):
        huber, occ, prob = model_utils.tapnet_loss(
            points,
            occlusion,
            target_points,
            target_occ,
            (FRAMES, HEIGHT, WIDTH, 3),
            mask=mask,
            expected_dist=expected_dist,
        )
        return huber + occ + prob, (huber, occ, prob)

    return jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)(
        points, occlusion, expected_dist
    )


def inputs():
    rng = np.random.default_rng(5)
    shape = (2, 4, FRAMES)
    target = rng.uniform(0.0, 1.0, (*shape, 2)) * [WIDTH, HEIGHT]
    valid = np.array([[1, 1, 1, 0], [1, 1, 0, 0]])[..., None] * np.ones(FRAMES)
    arrays = (
        target + rng.normal(size=target.shape),
        rng.normal(size=shape),
        rng.normal(size=shape),
        target,
        (rng.uniform(size=shape) < 0.3).astype(np.float32),
        valid,
    )
    return tuple(jnp.asarray(x, jnp.float32) for x in arrays)


if __name__ == "__main__":
    run(entry, inputs)
