"""Messages, read line by line."""

import enum
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import Result, as_result_function, runtime_assert, with_runtime_assertions


def message(text, fmt_args, **options):
    """The lines of an assertion that fails in a jitted function."""

    def program(values):
        runtime_assert(False, text, values, **options)

    _, (assertion,) = jax.jit(with_runtime_assertions(program))(fmt_args)
    return str(assertion).splitlines()


@pytest.mark.parametrize(
    ("text", "value", "line"),
    [
        ("{v}", np.float32(0.1), "0.1"),
        ("{v}", np.float32(1) / np.float32(3), "0.33333334"),
        ("{v}", np.float32(1e10), "1e+10"),
        ("{v}", np.float16(0.1), "0.1"),
        ("{v}", np.float32("nan"), "nan"),
        ("{v}", -np.float32("inf"), "-inf"),
        ("{v}", np.int8(-3), "-3"),
        ("{v}", np.bool_(True), "True"),
        ("{v}", np.complex64(1 - 2j), "(1-2j)"),
        ("{v:.3f}", np.float32(2), "2.000"),
        ("{v:.3f}", np.ones((1,), np.float32), "1.000"),
        ("{v:.3f}", np.ones((1, 1), np.float32), "1.000"),
        ("{v:>6d}|", np.int32(42), "    42|"),
        ("{v:,}", np.int32(1234567), "1,234,567"),
        ("{v:x}", np.uint8(255), "ff"),
        ("{v:.1e}", np.float32(12345), "1.2e+04"),
        ("{v:.1f}", np.array([1.25, 2], np.float32), "[1.2 2.0]"),
        ("{v}", np.array([1, 2, 3]), "[1 2 3]"),
        ("{v}", np.zeros((0,), np.float32), "[]"),
        ("{v[0]}", np.array([7, 8, 9]), "7"),
        ("{v[2]:03d}", np.array([7, 8, 9]), "009"),
        ("{v[0][1]}", np.array([[7, 8], [9, 10]]), "8"),
        ("{v[0]}", np.array([[7, 8], [9, 10]]), "[7 8]"),
        ("{v.shape}", np.zeros((2, 3)), "(2, 3)"),
        ("{v!r}", np.float32(0.5), "0.5"),
        ("{v!s:>5}", np.float32(0.5), "  0.5"),
        ("{{v}} {v}", np.int32(1), "{v} 1"),
        ("100% of {v}", np.int32(1), "100% of 1"),
        ("{v[a]}", {"a": np.int32(1), "b": np.int32(2)}, "1"),
        ("{v}", {"a": np.int32(1), "b": np.float32(0.5)}, "{'a': 1, 'b': 0.5}"),
        ("{v}", (np.int32(1), [np.float32(0.5)]), "(1, [0.5])"),
        ("{v[1][0]:.2f}", (np.int32(1), [np.float32(0.5)]), "0.50"),
        ("{v[9]}", np.array([7, 8, 9]), "<v[9]: index 9 is out of bounds for axis 0 with size 3>"),
    ],
)  # fmt: skip
def test_values_in_the_first_line(text, value, line):
    assert message(text, {"v": value})[0] == line


def test_a_long_array_is_shortened():
    line = message("{v}", {"v": jnp.arange(10_000)})[0]
    assert line == "[   0    1    2 ... 9997 9998 9999]"


def test_width_from_another_value():
    assert message("{v:>{w}}|", {"v": jnp.array(7), "w": jnp.array(4)})[0] == "   7|"


def test_static_and_computed_values_together():
    class Kind(enum.Enum):
        EDGE = "edge"

    def program(x):
        names = {"kind": Kind.EDGE, "name": "mesh", "x": x, "n": 3, "unused": x}
        runtime_assert(x > 0, "{kind} of {name}: {x} < {n}", names)

    _, (assertion,) = jax.jit(with_runtime_assertions(program))(jnp.array(0))
    assert str(assertion).splitlines()[0] == "Kind.EDGE of mesh: 0 < 3"


def test_message_of_several_lines_keeps_them():
    assert message("first {v}\nsecond", {"v": jnp.array(1)})[:2] == ["first 1", "second"]


def here():
    """The line of the call."""
    return traceback.extract_stack(limit=2)[0].lineno


LINES = {}


def asserting(x):
    LINES["asserting"] = here() + 1
    runtime_assert(x > 0, "positive")
    return x


class Model:
    def step(self, x):
        LINES["Model.step"] = here() + 1
        runtime_assert(x > 0, "positive")
        return x


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
@pytest.mark.parametrize("wrap", [
    lambda f: f,
    jax.vmap,
    jax.jit,
    jax.checkpoint,
    lambda f: jax.grad(lambda x: f(x).sum()),
    lambda f: lambda x: lax.map(f, x),
    lambda f: lambda x: lax.cond(x.sum() > 9, lambda x: x, f, x),
], ids=["plain", "vmap", "jit", "remat", "grad", "map", "cond"])  # fmt: skip
@pytest.mark.parametrize("function", [asserting, Model().step], ids=["function", "method"])
def test_the_place_is_that_of_the_call(function, wrap, jit):
    _, (assertion,) = jit(with_runtime_assertions(wrap(function)))(jnp.zeros(3))
    name = function.__qualname__
    assert str(assertion).splitlines()[1] == f"  asserted at {__file__}:{LINES[name]} in {name}"
    site = assertion.site
    assert (site.file, site.line, site.function) == (__file__, LINES[name], name)


def test_all_lines_of_a_failure_in_loops_and_lanes():
    def program(rows):
        def body(total, x):
            LINES["body"] = here() + 1
            runtime_assert(x < 5, "x is {x:.1f}", {"x": x})
            return total + x, None

        return jax.vmap(lambda row: lax.scan(body, 0.0, row)[0])(rows)

    _, (assertion,) = with_runtime_assertions(program)(jnp.array([[1.0, 2], [3, 8], [9, 4]]))
    function = "test_all_lines_of_a_failure_in_loops_and_lanes.<locals>.program.<locals>.body"
    assert str(assertion).splitlines() == [
        "x is 8.0",
        f"  asserted at {__file__}:{LINES['body']} in {function}",
        "  first failure in iteration 1",
        "  first failure in lane 1; 2 of 3 failed",
    ]


class OutOfRoom(ValueError):
    pass


def three(x):
    runtime_assert(x < 1, "first {x}", {"x": x}, OutOfRoom)
    runtime_assert(x < 99, "passes")
    runtime_assert(x < 2, "second {x}", {"x": x}, KeyError)
    runtime_assert(x < 3, "third {x}", {"x": x})
    return x


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_raise_assertion_names_all_failures(jit):
    result = jit(as_result_function(three))(jnp.array(7))
    with pytest.raises(OutOfRoom) as caught:
        result.raise_assertion()
    assert str(caught.value).splitlines()[0] == "first 7"
    lines = "\n".join(caught.value.__notes__).splitlines()
    assert lines[0] == "2 more failed in the same run:"
    assert lines[1] == "  KeyError: second 7"
    assert lines[2].startswith(f"    asserted at {__file__}:")
    assert lines[3] == "  AssertionError: third 7"
    assert lines[4].startswith(f"    asserted at {__file__}:")
    assert len(lines) == 5
    shown = "".join(traceback.format_exception(caught.value))
    assert "third 7" in shown


def test_raise_assertion_of_one_failure_has_no_notes():
    result = as_result_function(three)(jnp.array(1))
    with pytest.raises(OutOfRoom, match="first 1") as caught:
        result.raise_assertion()
    assert getattr(caught.value, "__notes__", []) == []


def test_raise_assertion_is_silent_when_all_passed():
    assert as_result_function(three)(jnp.array(0)).raise_assertion() is None


class NeedsTwo(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)


class KeywordOnly(Exception):
    def __init__(self, *, text):
        super().__init__(text)


class Refuses(Exception):
    def __init__(self, code):
        super().__init__(int(code))


@pytest.mark.parametrize("kind", [NeedsTwo, KeywordOnly, Refuses, UnicodeDecodeError])
def test_exception_types_with_other_constructors(kind):
    """The message must reach the user, whatever the type does with it."""

    def program(x):
        runtime_assert(x > 0, "x is {x}", {"x": x}, kind)

    result = as_result_function(program)(jnp.array(0))
    with pytest.raises(Exception, match="x is 0") as caught:
        result.raise_assertion()
    text = f"{type(caught.value).__qualname__} {caught.value}"
    assert kind.__qualname__ in text


@pytest.mark.parametrize("kind", [OSError, SystemError, StopIteration, FloatingPointError])
def test_exception_types_that_take_a_text(kind):
    def program(x):
        runtime_assert(x > 0, "x is {x}", {"x": x}, kind)

    with pytest.raises(kind, match="x is 0"):
        as_result_function(program)(jnp.array(0)).raise_assertion()


def test_key_error_keeps_its_lines_readable():
    """`str` of a KeyError is the `repr` of its argument; the message is still whole."""
    result = as_result_function(lambda x: runtime_assert(x > 0, "no {x}", {"x": x}, KeyError))(
        jnp.array(0)
    )
    with pytest.raises(KeyError) as caught:
        result.raise_assertion()
    assert caught.value.args[0].splitlines()[0] == "no 0"


def test_result_shows_itself():
    result = as_result_function(three)(jnp.array(7))
    assert repr(result) == "Result(Array(7, dtype=int32), 4 assertions, 3 failed)".replace(
        "Array(7, dtype=int32)", repr(result.value)
    )
    assert repr(as_result_function(three)(jnp.array(0))).endswith("4 assertions, all passed)")
    assert isinstance(result, Result)
    seen = []
    jax.jit(lambda x: seen.append(repr(as_result_function(three)(x))) or x)(jnp.array(1))
    assert seen[0].endswith("4 assertions, being traced)")
