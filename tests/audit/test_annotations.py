"""Inputs from jaxtyping's annotations, with and without jaxtyping."""

import sys
from types import ModuleType
from typing import Any

import jax
import pytest

from verax.audit.annotations import UnknownSizeError, spec_of
from verax.audit.errors import UsageError
from verax.audit.inputs import Inputs, inputs_from_specs
from verax.audit.specs import ArraySpec, parse_inputs

DIMS = {"batch": 8, "time": 16, "n": 4}

TEXTS = [
    ('Float[Array, "batch time"]', ArraySpec("float32", (8, 16), ("batch", "time"))),
    ('Int[Array, ""]', ArraySpec("int32", (), ())),
    ('UInt8[Array, "n 84 3"]', ArraySpec("uint8", (4, 84, 3), ("n", "", ""))),
    ('Float64[Array, "n"]', ArraySpec("float64", (4,), ("n",))),
    ('BFloat16[Array, "#n"]', ArraySpec("bfloat16", (4,), ("n",))),
    ('Bool[Array, "time-1 2*n"]', ArraySpec("bool", (15, 8), ("", ""))),
    ('Num[Array, "feat=3"]', ArraySpec("float32", (3,), ("feat",))),
    ('Key[Array, "batch"]', ArraySpec("key", (8,), ("batch",))),
    ("PRNGKeyArray", ArraySpec("key", (), ())),
    ('Float[Array, "n"] | None', ArraySpec("float32", (4,), ("n",))),
]


@pytest.mark.parametrize(("text", "spec"), TEXTS)
def test_an_annotation_as_text(text: str, spec: ArraySpec):
    assert spec_of(text, DIMS) == spec
    assert spec_of(f"'{text}'", DIMS) == spec
    qualified = text if text.startswith("PRNG") else f"jaxtyping.{text}"
    assert spec_of(qualified, DIMS) == spec


@pytest.mark.parametrize(("text", "spec"), TEXTS)
def test_an_annotation_itself(text: str, spec: ArraySpec):
    import jaxtyping
    from jax import Array

    annotation = eval(text, {name: getattr(jaxtyping, name) for name in NAMES} | {"Array": Array})
    assert spec_of(annotation, DIMS) == spec


NAMES = "Float Int UInt8 Float64 BFloat16 Bool Num Key PRNGKeyArray".split()


@pytest.mark.parametrize("text", ["float", "Array", "dict[str, Array]", "not python", "", "x()"])
def test_other_annotations_say_nothing(text: str):
    assert spec_of(text, DIMS) is None


def test_no_annotation_says_nothing():
    assert spec_of(None, DIMS) is None
    assert spec_of(int, DIMS) is None


@pytest.mark.parametrize(
    ("dimensions", "names", "form"),
    [
        ("batch feat", ("feat",), "f32[batch=8,feat=8]"),
        ("*lead n", ("*lead",), "f32[8,n=4]"),
        ("...", ("...",), "f32[8]"),
        ("_ n", ("_",), "f32[8,n=4]"),
        ("feat-1", ("feat-1",), "f32[8]"),
    ],
)
def test_sizes_that_are_not_known(dimensions: str, names: tuple[str, ...], form: str):
    with pytest.raises(UnknownSizeError) as error:
        spec_of(f'Float[Array, "{dimensions}"]', DIMS)
    assert (error.value.names, error.value.form) == (names, form)


PROGRAM = """
from __future__ import annotations
from typing import TYPE_CHECKING, NamedTuple
if {condition}:
    from jaxtyping import Float, Int
    from jax import Array

class State(NamedTuple):
    position: Float[Array, "n 3"]
    count: Int[Array, ""]

class Unclear(NamedTuple):
    position: Float[Array, "n 3"]
    rest: dict

def step(x: Float[Array, "batch feat"], state: State, scale: float = 1.0): ...
def unclear(u: Unclear): ...
def anonymous(x: Float[Array, "batch _"]): ...

class Model:
    def step(self, x: Float[Array, "batch feat"]): ...
    def __call__(self, x: Float[Array, "batch feat"]): ...
"""


@pytest.fixture(params=["TYPE_CHECKING", "True"])
def program(request, monkeypatch) -> ModuleType:
    """A module that imports jaxtyping for type checkers only, or really."""
    module = ModuleType("annotated_program")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(PROGRAM.format(condition=request.param), vars(module))
    return module


def built(function: Any, *specs: str, **dims: int) -> Inputs:
    return inputs_from_specs(function, parse_inputs(specs, dims), dims)


def test_arguments_from_annotations(program: ModuleType):
    inputs = built(program.step, batch=8, feat=2, n=4)
    x, state = inputs.args
    assert x.shape == (8, 2)
    assert isinstance(state, program.State)
    assert (state.position.shape, state.count.dtype.name) == ((4, 3), "int32")
    assert inputs.axes == {"x": "batch feat", "state": program.State("n _", "")}


def test_what_is_given_comes_before_annotations(program: ModuleType):
    inputs = built(program.step, "state.count=i32[] in 0..9", "x=f32[b=1]", "scale=2.0", n=4)
    x, state, scale = inputs.args
    assert (x.shape, state.position.shape, scale) == ((1,), (4, 3), 2.0)
    assert inputs.ranges == {"state": program.State(None, (0, 9))}


def test_methods_and_objects(program: ModuleType):
    model = program.Model()
    for function in (model.step, model, jax.jit(model.step)):
        assert built(function, batch=8, feat=2).args[0].shape == (8, 2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            "step",
            "parameter 'x': the size of batch, feat is not known; give it with "
            "--in 'x=f32[batch=8,feat=8]' or --dim batch=8 --dim feat=8",
        ),
        (
            "anonymous",
            "parameter 'x': the size of batch, _ is not known; give it with "
            "--in 'x=f32[batch=8,8]'",
        ),
        (
            "unclear",
            "parameter 'u.position': the size of n is not known; give it with "
            "--in 'u.position=f32[n=8,3]' or --dim n=8",
        ),
    ],
)
def test_a_size_that_is_missing_is_asked_for(program: ModuleType, function: str, message: str):
    with pytest.raises(UsageError) as error:
        built(getattr(program, function))
    assert str(error.value) == message


def test_a_field_that_is_missing_is_asked_for(program: ModuleType):
    with pytest.raises(UsageError) as error:
        built(program.unclear, n=4)
    assert str(error.value) == (
        "parameter 'u': its field 'rest' is not known; give it with "
        "--in 'u.rest=f32[batch=8]', or all arguments with --inputs"
    )
