"""Inputs as they are written on the command line."""

import math

import pytest

from verax.audit.errors import UsageError
from verax.audit.specs import ArraySpec, ValueSpec, parse_dims, parse_input, parse_inputs


def array(text: str, **dims: int) -> ArraySpec:
    spec = parse_input(f"x={text}", dims).spec
    assert isinstance(spec, ArraySpec)
    return spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("f32[batch=8,time=16]", ArraySpec("float32", (8, 16), ("batch", "time"))),
        ("f32[8,16]", ArraySpec("float32", (8, 16), ("", ""))),
        ("bf16[ n , time = 16 ]", ArraySpec("bfloat16", (3, 16), ("n", "time"))),
        ("bool[]", ArraySpec("bool", (), ())),
        ("int32[0]", ArraySpec("int32", (0,), ("",))),
        ("key[env=4]", ArraySpec("key", (4,), ("env",))),
        ("prng[]", ArraySpec("prng", (), ())),
        ("i32[] in 0..9", ArraySpec("int32", (), (), 0, 9)),
        ("u8[h=84,w=84] in 0..255", ArraySpec("uint8", (84, 84), ("h", "w"), 0, 255)),
        ("f32[] in -1.5..+2e3", ArraySpec("float32", (), (), -1.5, 2000.0)),
        ("f32[] in .5..1.", ArraySpec("float32", (), (), 0.5, 1.0)),
        ("f32[] in 0..inf", ArraySpec("float32", (), (), 0, None)),
        ("f32[] in -inf..0", ArraySpec("float32", (), (), None, 0)),
        ("f32[] in -pi..pi", ArraySpec("float32", (), (), -math.pi, math.pi)),
        ("c64[2]", ArraySpec("complex64", (2,), ("",))),
    ],
)
def test_an_array(text: str, spec: ArraySpec):
    assert array(text, n=3) == spec


@pytest.mark.parametrize("text", ["f32[{}]", "f32[n={}]", "i32[] in 0..{}", "i32[] in -{}..0"])
def test_a_number_that_nobody_can_print(text: str):
    with pytest.raises(UsageError, match="no size, index or bound is that large"):
        array(text.format("9" * 5000))


def test_a_bound_of_floats_may_have_any_length():
    assert array(f"f32[] in 0..{10**30}").high == 1e30


def test_a_dimension_that_nobody_can_print():
    with pytest.raises(UsageError, match="no axis is that long"):
        parse_dims([f"n={'9' * 5000}"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("-0.5", -0.5), ("'train'", "train"), ("True", True), ("(1, 'a')", (1, "a"))],
)
def test_a_python_value(text: str, value: object):
    assert parse_input(f"x={text}", {}).spec == ValueSpec(value)


@pytest.mark.parametrize(
    ("name", "parameter", "path"),
    [
        ("x", "x", ()),
        ("params.w1", "params", ("w1",)),
        ("params['w 1']", "params", ("w 1",)),
        ('params["a"][0].b', "params", ("a", 0, "b")),
        ("batch[12]", "batch", (12,)),
        ("größe", "größe", ()),
    ],
)
def test_a_name_leads_into_containers(name: str, parameter: str, path: tuple[str | int, ...]):
    spec = parse_input(f"{name} = f32[]", {})
    assert (spec.parameter, spec.path) == (parameter, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--in '', at the end: expected the name of a parameter, as in x=f32[batch=8]"),
        ("=f32[]", "--in '=f32[]', at '=f32[]' (character 1): expected the name of a parameter"),
        ("x", "--in 'x', at the end: expected = and what the input is, as in x=f32[batch=8]"),
        ("x:f32[]", "at ':f32[]' (character 2): expected = and what the input is"),
        ("x.=f32[]", "at '=f32[]' (character 3): expected a name after the dot, as in params.w"),
        ("x[a]=f32[]", "at 'a]=f32[]' (character 3): expected [0] or ['name']"),
        (
            "x=f33[8]",
            "--in 'x=f33[8]', at 'f33[8]' (character 3): there is no dtype 'f33'; there are bool, "
            "bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, c64, c128, key, prng",
        ),
        ("x=f32[8", "--in 'x=f32[8', at the end: expected a comma or ]"),
        ("x=f32[8;9]", "at ';9]' (character 8): expected a comma or ]"),
        ("x=f32[,]", "at ',]' (character 7): expected a size or a name, as in f32[8]"),
        ("x=f32[n=]", "at ']' (character 9): expected the size of n, as in n=8"),
        ("x=f32[n=-1]", "at '-1]' (character 9): expected the size of n, as in n=8"),
        ("x=f32[n]", "at 'n]' (character 7): n has no size; write n=8 or add --dim n=8"),
        ("x=f32[] on", "at 'on' (character 9): expected nothing more, or a range as in: in 0..255"),
        ("x=f32[] in", "at the end: expected a number, as in 0..255, -1..1 or 0..inf"),
        ("x=f32[] in 1", "at the end: expected two dots between the bounds, as in 0..255"),
        ("x=f32[] in 2..1", "at '2..1' (character 12): the range is empty, since 2 is more than 1"),
        ("x=i8[] in 0.5..1", "the bounds of int8 are whole numbers"),
        ("x=key[] in 0..1", "a key has no range"),
        (
            "x=f32",
            "at 'f32' (character 3): expected a dtype with axes, as in f32[batch=8], or a Python "
            "value, as in 3 or 'train'",
        ),
    ],
)
def test_a_mistake_is_named_with_its_position(text: str, message: str):
    with pytest.raises(UsageError) as error:
        parse_input(text, {})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_one_place_is_given_once():
    with pytest.raises(UsageError, match=r"^--in 'x=i32\[\]': already given as 'x=f32\[\]'$"):
        parse_inputs(["x=f32[]", "x=i32[]"], {})


def test_sizes_of_axes():
    assert parse_dims(["batch=8", "time = 16", "batch=8"]) == {"batch": 8, "time": 16}


@pytest.mark.parametrize("text", ["batch", "batch=", "8=8", "batch=x", "batch=-1"])
def test_a_size_of_another_form_is_an_error(text: str):
    with pytest.raises(UsageError) as error:
        parse_dims([text])
    assert str(error.value) == f"--dim {text!r}: write NAME=SIZE, as in --dim batch=8"


def test_a_size_is_given_once():
    with pytest.raises(UsageError, match=r"^--dim 'batch=9': batch is already 8$"):
        parse_dims(["batch=8", "batch=9"])
