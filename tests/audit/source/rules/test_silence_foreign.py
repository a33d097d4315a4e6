"""Arrays of other libraries: their methods have the same names and take other arguments."""

from verax.audit.source.analyse import audit_text

from .reading import found

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


def test_what_asks_for_the_library_at_hand_is_told_that_it_is_jax():
    program = """
    def rotated(a, left, interface_of):
        interface = interface_of(a)
        if interface == "jax":
            return jax.lax.cond(left, jnp.sin, jnp.cos, a)
        elif left < 0:
            return -a
        return a

    @functools.partial(jax.jit, static_argnums=2)
    def traced(a, left, interface_of):
        return rotated(a, left, interface_of)

    @functools.partial(jax.jit, static_argnums=2)
    def wrong(a, left, interface_of):
        if interface_of(a) == "jax":
            return -a if left < 0 else a
        return a
    """
    assert found("JT201", program) == [16]


def test_what_another_library_is_not_told():
    program = """
    class Backend:
        def __init__(self):
            global torchlib
            import torch
            torchlib = torch

        def ordered(self, keys, axis=-1):
            index = torchlib.arange(keys[0].size(0))
            for key in keys:
                index = index[torchlib.argsort(key[index])]
            return index

    def ordered(keys, axis=-1):
        return jnp.argsort(keys)
    """
    assert found("AX016", program) == [14]
