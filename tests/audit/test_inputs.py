"""From what was written of inputs to arguments."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from verax.audit.errors import UsageError
from verax.audit.inputs import (
    Inputs,
    axes_from_example,
    inputs_from_example,
    inputs_from_specs,
)
from verax.audit.specs import parse_dims, parse_inputs


def built(function: Any, *specs: str, dims: tuple[str, ...] = ()) -> Inputs:
    sizes = parse_dims(dims)
    return inputs_from_specs(function, parse_inputs(specs, sizes), sizes)


def struct(shape: tuple[int, ...], dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def test_arrays_axes_and_ranges():
    def step(x, y, *, n): ...

    inputs = built(step, "x=f32[batch=8,4]", "y=u8[] in 0..9", "n=3")
    assert inputs.args == (struct((8, 4)), struct((), jnp.uint8))
    assert inputs.kwargs == {"n": 3}
    assert inputs.axes == {"x": "batch _", "y": "", "n": ""}
    assert inputs.ranges == {"y": (0, 9)}


def test_keys_of_both_kinds():
    def step(new, old): ...

    new, old = built(step, "new=key[env=4]", "old=prng[env=4]").args
    assert jnp.issubdtype(new.dtype, jax.dtypes.prng_key)
    assert new.shape == (4,)
    assert (old.shape, old.dtype) == ((4, 2), jnp.uint32)
    draw = jax.vmap(lambda key: jax.random.normal(key, (3,)))
    assert jax.eval_shape(draw, new).shape == jax.eval_shape(draw, old).shape == (4, 3)


def test_containers():
    def step(params, batch): ...

    inputs = built(
        step,
        "batch[1]=i32[n=2] in 0..1",
        "batch[0]=f32[n=2]",
        "params.layer['w']=f32[a=1]",
        "params.layer.b=f32[]",
    )
    assert inputs.args == (
        {"layer": {"w": struct((1,)), "b": struct(())}},
        [struct((2,)), struct((2,), jnp.int32)],
    )
    assert inputs.axes == {"params": {"layer": {"w": "a", "b": ""}}, "batch": ["n", "n"]}
    assert inputs.ranges == {"batch": [None, (0, 1)]}


class State(NamedTuple):
    position: Any
    velocity: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Config:
    rate: Any
    state: State


def test_records_are_made_by_their_annotation():
    def step(config: Config): ...

    inputs = built(
        step, "config.rate=f32[]", "config.state.position=f32[n=3]", "config.state.velocity=f32[3]"
    )
    assert inputs.args == (Config(struct(()), State(struct((3,)), struct((3,)))),)
    assert inputs.axes == {"config": Config("", State("n", ""))}


def test_what_has_a_default_may_be_left_out():
    def step(x, scale=2.0, *, key=None, other=1): ...

    inputs = built(step, "x=f32[]", "key=key[]")
    assert inputs.args == (struct(()),)
    assert list(inputs.kwargs) == ["key"]

    def later(x, scale=2.0, shift=None): ...

    inputs = built(later, "x=f32[]", "shift=f32[]")
    assert (inputs.args, inputs.kwargs) == ((struct(()),), {"shift": struct(())})


def test_stars():
    def step(*parts, **options): ...

    inputs = built(step, "parts[0]=f32[]", "parts[1]=f32[2]", "n=3")
    assert (inputs.args, inputs.kwargs) == ((struct(()), struct((2,))), {"n": 3})
    assert built(step).args == ()


def step(x, params): ...


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (
            ("x=f32[]",),
            "parameter 'params' is not known; give it with --in 'params=f32[batch=8]', or all "
            "arguments with --inputs",
        ),
        (
            ("x=f32[]", "parms=f32[]", "params=f32[]"),
            "--in 'parms=f32[]': there is no parameter 'parms'; did you mean params?",
        ),
        (
            ("x=f32[]", "q=f32[]", "params=f32[]"),
            "--in 'q=f32[]': there is no parameter 'q'; there are x, params",
        ),
        (
            ("x=f32[]", "x.a=f32[]", "params=f32[]"),
            "--in 'x.a=f32[]': x is given both as a whole and in parts",
        ),
        (
            ("x.a=f32[]", "x=f32[]", "params=f32[]"),
            "--in 'x=f32[]': x is given both as a whole and in parts",
        ),
        (
            ("x.a.b=f32[]", "x.a[0]=f32[]", "params=f32[]"),
            "--in 'x.a[0]=f32[]': x['a'] has numbered and named parts at once",
        ),
        (("x[1]=f32[]", "params=f32[]"), "parameter 'x': x[0] is missing"),
        (
            ("x=f64[]", "params=f32[]"),
            "parameter 'x': JAX has no float64 unless JAX_ENABLE_X64=1 is set",
        ),
    ],
)
def test_a_mistake_is_named(specs: tuple[str, ...], message: str):
    with pytest.raises(UsageError) as error:
        built(step, *specs)
    assert str(error.value) == message


def test_a_record_that_cannot_be_made():
    def step(state: State): ...

    with pytest.raises(UsageError) as error:
        built(step, "state.position=f32[]")
    assert str(error.value).startswith("parameter 'state': State could not be made: TypeError: ")


def test_a_function_without_a_signature():
    with pytest.raises(UsageError, match=r"parameters of .* are not known; .* --inputs$"):
        built(min)


def test_examples_of_the_module():
    assert inputs_from_example((1, 2), "inputs").args == (1, 2)
    assert inputs_from_example([1, 2], "inputs").args == (1, 2)
    assert inputs_from_example({"x": 1}, "inputs").kwargs == {"x": 1}


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (
            3,
            "--inputs make: is a value of type int; give a tuple of arguments, or a dict of "
            "keyword arguments",
        ),
        (None, "--inputs make: is None; give a tuple of arguments, or a dict of keyword arguments"),
        ({1: 2}, "--inputs make: 1 is not the name of a parameter"),
    ],
)
def test_examples_of_another_form(example: object, message: str):
    with pytest.raises(UsageError) as error:
        inputs_from_example(example, "make")
    assert str(error.value) == message


def test_axes_of_another_form():
    with pytest.raises(UsageError) as error:
        axes_from_example("batch", "AXES")
    assert str(error.value) == (
        "--axes AXES: is a value of type str; give a dict from parameter to axis names, as in "
        "{'x': 'batch time'}"
    )
