"""Arrays of other libraries: their methods have the same names and take other arguments."""

from verax.audit.source.analyse import audit_text

TORCH = """
import torch


def heads(x: torch.Tensor, count: int):
    batch, length, width = x.shape
    x = x.reshape(batch, length, count, width // count).transpose(1, 2)
    near = (x[:, None] & x[None, :]).reshape(batch, length, 4, 4).transpose(1, 2)
    return (-x).flatten(2).transpose(1, 2)[:, :, 1:], near


class Pool(torch.nn.Module):
    def forward(self, x):
        return x.reshape(len(x), -1, 1).transpose(1, 2)[:, 0, :]
"""
BOTH = """
import jax
import jax.numpy as jnp
import torch


def converted(tensor):
    return jnp.asarray(tensor.reshape(2, 3, 4).transpose(1, 2).numpy())


@jax.jit
def wrong(x):
    return jnp.ones((2, 3, 4)).transpose(1, 2), x.reshape(2, 3, 4).transpose(1, 2)
"""


def test_arrays_of_another_library_have_methods_of_their_own():
    assert audit_text(TORCH).findings == ()


def test_arrays_of_jax_are_known_beside_those_of_another_library():
    assert {(it.code, it.place.line) for it in audit_text(BOTH).findings} == {("AX201", 13)}
