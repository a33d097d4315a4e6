"""Assertions on eight devices: one global answer, about the first device that failed."""

import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

from verax import check_assertions, runtime_assert, with_runtime_assertions
from verax.runtime import LARGEST

from .cases import MODES, UNBATCHED, Table, compare, fails, small

LINE = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
GRID = jax.make_mesh((2, 4), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

XS = [1.0, 2.0, 7.0, 3.0, 9.0, 6.0, 1.0, 2.0]  # The first failure is on device 2.
CALM = [1.0, 2.0, 3.0, 3.0, 4.0, 1.0, 1.0, 2.0]

# Eagerly, each operation is compiled for all devices; the rows that say most run so too.
table = Table(modes=("jitted",))


def sharded(body, **options):
    options = {"mesh": LINE, "in_specs": P("i"), "out_specs": P("i"), **options}
    return jax.shard_map(body, **options)


EAGER_TOO = {True: UNBATCHED, False: ("jitted",)}

for check_vma in (True, False):

    @table(XS, calm=(CALM,), name=f"straight_line-{check_vma}", modes=EAGER_TOO[check_vma], expect=[
        fails("x is 7.0", predicate=[False], fix=jnp.array([7.0]))
    ])  # fmt: skip
    def straight_line(xs, check_vma=check_vma):
        return sharded(lambda x: (small(x), x * 2)[1], check_vma=check_vma)(xs)

    @table(XS, calm=(CALM,), name=f"scalar-{check_vma}", modes=MODES, expect=[
        fails("x is 7.0", fix=9.0)
    ])  # fmt: skip
    def scalar(xs, check_vma=check_vma):
        def body(x):
            return (small(x[0], law=LARGEST), x * 2)[1]

        return sharded(body, check_vma=check_vma)(xs)

    @table(XS, calm=(CALM,), name=f"scan-{check_vma}", modes=EAGER_TOO[check_vma], expect=[
        fails("x is 8.0", iteration=[1], fix=8.0)
    ])  # fmt: skip
    def scan(xs, check_vma=check_vma):
        """Device 2 comes first, though device 4 failed in an earlier iteration."""

        def body(x):
            def step(total, i):
                small(jnp.where(i >= (x[0] < 9), (x[0] + i) * (x[0] > 5), 0))
                return total + x, None

            return lax.scan(step, x, jnp.arange(3.0))[0]

        return sharded(body, check_vma=check_vma)(xs)

    @table(XS, calm=(CALM,), name=f"cond-{check_vma}", modes=EAGER_TOO[check_vma], expect=[
        fails("x is 7.0", fix=7.0), fails("sum is 31.0"),
    ])  # fmt: skip
    def cond(xs, check_vma=check_vma):
        """Devices may take different branches."""

        def body(x):
            y = lax.cond(x[0] > 5, lambda x: (small(x[0]), x)[1], lambda x: -x, x)
            total = lax.psum(x[0], "i")
            runtime_assert(total < 30, "sum is {t}", {"t": total})
            return y

        return sharded(body, check_vma=check_vma)(xs)

    @table(
        XS,
        name=f"while-{check_vma}",
        modes=EAGER_TOO[check_vma],
        expect=[fails("x is 5.0", iteration=[3], fix=5.0)],
    )
    def while_loop(xs, check_vma=check_vma):
        """Devices run for different numbers of iterations; device 2 is the first to reach 5."""

        def body(x):
            def step(state):
                i, n = state
                small(n * (x[0] != 9))
                return i + 1, n + 1

            return lax.while_loop(lambda state: state[1] < x[0], step, (x[0] * 0, x[0] * 0 + 2))[1][
                None
            ]

        return sharded(body, check_vma=check_vma)(xs)


@table(np.arange(8.0).reshape(2, 4), expect=[
    fails("x is 5.0", predicate=[[False]], fix=jnp.array([[7.0]]))
])  # fmt: skip
def two_axes(xs):
    spec = P("a", "b")

    def body(x):
        return (small(x, law=LARGEST), x * 2)[1]

    return sharded(body, mesh=GRID, in_specs=spec, out_specs=spec)(xs)


@table(np.arange(8.0).reshape(2, 4), expect=[
    fails("x is [[4. 5. 6. 7.]]", predicate=[[True, False, False, False]])
])  # fmt: skip
def one_axis_of_two(xs):
    """Only `a` is divided by hand; `b` is left to the compiler."""
    spec = P("a", None)

    def body(x):
        return (small(x), x * 2)[1]

    return jax.jit(sharded(body, mesh=GRID, in_specs=spec, out_specs=spec, axis_names={"a"}))(xs)


@table(XS, expect=[fails("i is 2", fix=2)])
def integers_and_index(xs):
    def body(x):
        i = lax.axis_index("i")
        runtime_assert(x[0] < 5, "i is {i}", {"i": i}, fix_fn=lambda s, i: i, fix_args=i)
        return x

    return sharded(body)(xs)


@table(XS, expect=[fails("x is 7.0", fix=7.0)])
def gradient_around(xs):
    def body(x):
        return (small(x[0]), x**2)[1]

    return jax.grad(lambda xs: sharded(body)(xs).sum())(xs)


@table(XS, modes=UNBATCHED, expect=[fails("x is 7.0", fix=7.0)])
def gradient_inside(xs):
    def loss(x):
        small(x[0])
        return (x**2).sum()

    return sharded(jax.grad(loss))(xs)


@table([XS, CALM], modes=MODES, expect=[fails("x is 7.0", iteration=[0])])
def inside_scan(rows):
    return lax.scan(lambda _, xs: (None, sharded(lambda x: (small(x[0]), x)[1])(xs)), None, rows)[1]


@table(XS, expect=[fails("x is 7.0", predicate=[False, True], lane=[0])])
def vmap_inside(xs):
    """The lanes of a `vmap` on each device lead, as they do on one device."""

    def one(x, f):
        return (small(x[0] * f), x * f)[1]

    def both(x):
        return jax.vmap(one, in_axes=(None, 0), out_axes=1)(x, jnp.array([1.0, 0.1]))

    return sharded(both, out_specs=P("i", None))(xs)


@table.in_all_modes()
def test_devices(case, mode):
    case.check(mode)


@pytest.mark.parametrize("check_vma", [True, False])
def test_gradient_outside(check_vma):
    def loss(xs):
        return sharded(lambda x: (small(x[0]), x**2)[1], check_vma=check_vma)(xs).sum()

    gradient, (assertion,) = jax.jit(jax.grad(with_runtime_assertions(loss), has_aux=True))(
        jnp.array(XS)
    )
    np.testing.assert_array_equal(gradient, 2 * np.array(XS))
    compare(assertion, fails("x is 7.0", fix=7.0))


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("xs", [XS, CALM], ids=["failing", "calm"])
def test_question_on_each_device(xs, check_vma):
    """Inside, a device knows its own assertions; outside, all are known."""

    def program(xs):
        def body(x):
            small(x[0])
            return jnp.where(check_assertions(), x, -x)

        return sharded(body, check_vma=check_vma)(xs), check_assertions()

    (inside, outside), _ = jax.jit(with_runtime_assertions(program))(jnp.array(xs))
    np.testing.assert_array_equal(inside, [x if x < 5 else -x for x in xs])
    assert bool(outside) is all(x < 5 for x in xs)


def test_payload_kinds_cross_devices():
    def body(x, keys):
        failed = x[0] > 5
        values = {
            "b": failed,
            "i8": x[0].astype(jnp.int8),
            "u8": x[0].astype(jnp.uint8),
            "bf": x[0].astype(jnp.bfloat16),
            "c": lax.complex(x[0], -x[0]),
            "key": keys[0],
            "none": jnp.zeros((0, 3)),
            "nan": jnp.where(failed, jnp.nan, 0.0),
        }
        runtime_assert(~failed, "values", values)
        return x

    keys = jax.random.split(jax.random.key(0), 8)
    program = jax.shard_map(body, mesh=LINE, in_specs=(P("i"), P("i")), out_specs=P("i"))
    _, (assertion,) = jax.jit(with_runtime_assertions(program))(jnp.array(XS), keys)
    values = assertion.fmt_args
    assert {name: str(leaf.dtype) for name, leaf in values.items()} == {
        "b": "bool", "i8": "int8", "u8": "uint8", "bf": "bfloat16", "c": "complex64",
        "key": "key<fry>", "none": "float32", "nan": "float32",
    }  # fmt: skip
    assert [values[name].item() for name in ("b", "i8", "u8", "bf", "c")] == [True, 7, 7, 7, 7 - 7j]
    assert values["none"].shape == (0, 3)
    assert np.isnan(values["nan"])
    assert (jax.random.key_data(values["key"]) == jax.random.key_data(keys[2])).all()


def test_value_that_is_not_a_number_on_another_device_stays_there():
    """A device without failure may hold anything."""

    def body(x):
        runtime_assert(x[0] != 7, "x is {x}", {"x": jnp.where(x[0] > 8, jnp.nan, x[0])})
        return x

    _, (assertion,) = with_runtime_assertions(sharded(body))(jnp.array(XS))
    compare(assertion, fails("x is 7.0"))


def pmapped(body, xs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return jax.pmap(body, axis_name="i")(xs)


def test_pmap():
    program = partial(pmapped, lambda x: (small(x, law=LARGEST), x * lax.axis_size("i"))[1])
    value, (assertion,) = with_runtime_assertions(program)(jnp.array(XS))
    np.testing.assert_array_equal(value, 8 * np.array(XS))
    compare(assertion, fails("x is 7.0", fix=9.0))
