"""Axes are followed to where they really go.

Every axis has a size of its own, a prime, so that the shape of a result tells which axis each of
its dimensions is: what verax says can be compared with what JAX computes.
"""

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.audit.trace.axes.declared import AxesError, names_of
from verax.audit.trace.entry import trace
from verax.audit.trace.facts import Facts

SIZES = {"batch": 2, "time": 3, "feat": 5, "hid": 7, "head": 11}


def shaped(names: str):
    return jax.ShapeDtypeStruct(tuple(SIZES[name] for name in names.split()), jnp.float32)


def facts_of(function, **names: str) -> Facts:
    traced = trace(function, [shaped(axes) for axes in names.values()], {})
    assert traced.failure is None, traced.failure
    return Facts(traced, names, None)


def output_names(function, **names: str) -> list[str]:
    facts = facts_of(function, **names)
    assert not facts.axes.clashes
    return [
        " ".join(name or "_" for name in facts.axes.names(value))
        for value in facts.program.body.outputs
    ]


def clashes(function, **names: str) -> list[tuple[str, set[str]]]:
    facts = facts_of(function, **names)
    return [(it.where, {it.first_name, it.second_name}) for it in facts.axes.clashes]


def test_one_more_number_beside_features_makes_others_and_one_more_step_is_a_step():
    def joined(x, steps):
        return jnp.concatenate([x, x[:, :1]], 1), jnp.concatenate([steps, steps[:1]], 0)

    assert output_names(joined, x="batch feat", steps="time hid") == ["batch _", "time hid"]

    def drives(weights, place):
        made = jnp.zeros((2, 4)) + place.sum()
        pushed = jnp.concatenate([made, made[:, :1]], axis=1) @ weights
        return made[:, :1] + pushed, made + pushed[:, :4]

    assert clashes(drives, weights="feat hid", place="batch") == []


def test_pieces_of_features_are_others_and_those_of_time_are_not():
    def halves(x, steps):
        mean, log_std = jnp.split(x, 2, axis=-1)
        return mean * jnp.exp(log_std), x[:, 4:], x[:, 1:], jnp.split(steps, 2)[1], steps[:3]

    names = {"x": "batch out", "steps": "time batch"}
    given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((5, 8), (6, 5))]
    facts = Facts(trace(halves, given, {}), names, None)
    found = [facts.axes.names(value) for value in facts.program.body.outputs]
    pieces = [("batch", None), ("batch", None)]
    wholes = [("batch", "out"), ("time", "batch"), ("time", "batch")]
    assert [tuple(it) for it in found] == pieces + wholes


def test_more_features_are_others_and_more_steps_are_steps():
    def joined(x, last):
        longer = jnp.concatenate([x, last[:, None]], axis=1)
        wider = jnp.concatenate([x, x[..., :1]], axis=-1)
        return longer, wider, jnp.concatenate([x], axis=-1)

    assert output_names(joined, x="batch time feat", last="batch feat") == [
        "batch time feat",
        "batch time _",
        "batch time feat",
    ]


@pytest.mark.parametrize(
    ("function", "names", "expected"),
    [
        (lambda x: x.transpose(2, 0, 1), {"x": "batch time feat"}, "feat batch time"),
        (lambda x: x.sum(axis=1), {"x": "batch time feat"}, "batch feat"),
        (lambda x: x.mean(axis=-1, keepdims=True) * x, {"x": "batch time feat"}, "batch time feat"),
        (lambda x: jnp.argmax(x, axis=0), {"x": "batch time"}, "time"),
        (lambda x: jax.nn.softmax(x, axis=1), {"x": "batch time"}, "batch time"),
        (lambda x: x[:, 1:], {"x": "batch time"}, "batch time"),
        (lambda x: x[:, -1], {"x": "batch time feat"}, "batch feat"),
        (lambda x: x[::-1], {"x": "time feat"}, "time feat"),
        (lambda x: jnp.cumsum(x, axis=0), {"x": "time feat"}, "time feat"),
        (lambda x: jnp.fft.rfft(x, axis=-1), {"x": "batch time"}, "batch _"),
        (lambda x: jnp.fft.fft(x, axis=0), {"x": "time feat"}, "_ feat"),
        (lambda x: jnp.sort(x, axis=1), {"x": "batch time"}, "batch time"),
        (lambda x: jax.lax.clamp(0.0, x, 1.0), {"x": "batch time"}, "batch time"),
        (lambda x: x[None] + x[:, None], {"x": "feat"}, "feat feat"),
        (lambda x, w: x @ w, {"x": "batch feat", "w": "feat hid"}, "batch hid"),
        (lambda x: jnp.einsum("bti,bsi->bts", x, x), {"x": "batch time feat"}, "batch time time"),
        (lambda x, i: x[i.astype(int)], {"x": "time feat", "i": "batch"}, "batch feat"),
        (lambda x: x.reshape(-1, x.shape[-1]), {"x": "batch time feat"}, "batch*time feat"),
        (lambda x: jnp.stack([x, x], axis=1), {"x": "batch feat"}, "batch _ feat"),
        (lambda x: jnp.concatenate([x, 2 * x], axis=0), {"x": "time feat"}, "time feat"),
        (lambda x: jnp.concatenate([x, 2 * x], axis=1), {"x": "time feat"}, "time _"),
        (lambda x: jnp.concatenate([x, x[:1]]), {"x": "time feat"}, "time feat"),
        (lambda x: jnp.pad(x, ((1, 1), (0, 0))), {"x": "time feat"}, "time feat"),
        (lambda x: jnp.zeros_like(x) + x, {"x": "time feat"}, "time feat"),
        (lambda x: x.at[0].set(1.0), {"x": "time feat"}, "time feat"),
        (lambda x: jnp.linalg.cholesky(x @ x.mT), {"x": "batch time feat"}, "batch time time"),
        (lambda x: jnp.linalg.svd(x)[1], {"x": "batch time feat"}, "batch _"),
        (lambda x: jax.lax.top_k(x, 2)[0], {"x": "batch time"}, "batch _"),
        (lambda x: jnp.tile(x, (1, 2)), {"x": "batch time"}, "batch _"),
        (lambda x: jax.lax.map(lambda row: row * 2, x), {"x": "batch time"}, "batch time"),
        (lambda x: jax.vmap(jnp.sum)(x), {"x": "batch time"}, "batch"),
        (lambda x: jax.vmap(jnp.sum, in_axes=1)(x), {"x": "batch time"}, "time"),
        (lambda x: jax.vmap(lambda r: r, 1, 0)(x), {"x": "batch time feat"}, "time batch feat"),
        (lambda x: jax.vmap(lambda r: r, 0, -1)(x), {"x": "batch time feat"}, "time feat batch"),
        (lambda x: jax.grad(lambda y: (y**2).sum())(x), {"x": "batch time"}, "batch time"),
        (lambda x: jax.jvp(jnp.sin, (x,), (x,))[1], {"x": "batch time"}, "batch time"),
        (
            lambda x: jax.lax.scan(lambda c, r: (c + r, c.sum()), jnp.zeros(5), x),
            {"x": "time feat"},
            ["feat", "time"],
        ),
        (
            lambda x: jax.lax.cond(x.sum() > 0, lambda: x, lambda: -x),
            {"x": "time feat"},
            "time feat",
        ),
        (
            lambda x: jax.lax.while_loop(lambda y: y.sum() < 9, lambda y: y + 1, x),
            {"x": "time feat"},
            "time feat",
        ),
    ],
)
def test_axes_arrive_where_the_operation_puts_them(function, names, expected):
    expected = [expected] if isinstance(expected, str) else expected
    assert output_names(function, **names) == expected


@pytest.mark.parametrize(
    ("function", "names", "where"),
    [
        (lambda x, y: x * y[:2], {"x": "batch feat", "y": "time feat"}, "elementwise"),
        (lambda x, y: x @ y[:3], {"x": "batch time", "y": "feat hid"}, "contraction"),
        (
            lambda x, y: jnp.concatenate([x, y[:, :3]], axis=0),
            {"x": "batch time", "y": "batch feat"},
            "concatenation",
        ),
        (
            lambda x, y: jax.vmap(jnp.dot)(x, y[:2, :3]),
            {"x": "batch time", "y": "feat time"},
            "mapped",
        ),
        (
            lambda x, y: jax.lax.scan(lambda c, r: (c, r[0] + r[1]), 0.0, (x, y[:3])),
            {"x": "time", "y": "feat"},
            "scanned",
        ),
        (
            lambda x, y: jax.lax.cond(x[0] > 0, lambda: x, lambda: y[:3]),
            {"x": "time", "y": "feat"},
            "branch",
        ),
        (
            lambda x, y: jax.lax.fori_loop(0, 3, lambda i, c: c + y[:3], x),
            {"x": "time", "y": "feat"},
            "elementwise",
        ),
        (lambda x, y: x.at[:].set(y[:3]), {"x": "time", "y": "feat"}, "update"),
    ],
)
def test_names_that_meet_clash_once(function, names, where):
    found = clashes(function, **names)
    assert [it for it, _ in found] == [where]


def test_a_clash_does_not_make_others():
    def program(x, mask):
        wrong = x * mask[:2]
        return (wrong.sum(axis=0) / mask.sum(axis=0)) * x.mean(axis=0)

    assert len(clashes(program, x="batch feat", mask="time feat")) == 1


def test_anonymous_axes_take_the_name_of_what_they_meet():
    def program(x, w):
        h = jnp.zeros((2, 7)) + x @ w
        return h, jnp.arange(7.0) + h[0]

    assert output_names(program, x="batch feat", w="feat hid") == ["batch hid", "hid"]


def test_a_merged_axis_is_split_into_its_parts_again():
    def program(x):
        flat = jnp.tanh(x.reshape(6, 5))
        return flat.reshape(2, 3, 5).sum(axis=0)

    assert output_names(program, x="batch time feat") == ["time feat"]


def test_parts_of_an_axis_become_it_again():
    def program(x):
        return x.reshape(2, 3, 5).reshape(6, 5)

    traced = trace(program, [jax.ShapeDtypeStruct((6, 5), jnp.float32)], {})
    facts = Facts(traced, {"x": "batch feat"}, None)
    assert facts.axes.names(facts.program.body.outputs[0]) == ("batch", "feat")


def test_halves_that_are_put_together_are_not_parts_of_themselves():
    def program(x):
        turned = jnp.stack([-x[:, 1::2], x[:, ::2]], axis=-1).reshape(x.shape)
        return turned @ x.T + x @ turned.T

    traced = trace(program, [jax.ShapeDtypeStruct((4, 6), jnp.float32)], {})
    facts = Facts(traced, None, None)
    assert facts.axes.names(facts.program.body.outputs[0]) == (None, None)


@pytest.mark.parametrize("order", [(3, 2, 5), (2, 5, 3)])
def test_a_reshape_that_permutes_sizes_is_noted(order):
    facts = facts_of(lambda x: x.reshape(order), x="batch time feat")
    (reshuffle,) = facts.axes.reshuffles
    assert prod(reshuffle.before_sizes) == prod(reshuffle.after_sizes)
    assert reshuffle.before_sizes != reshuffle.after_sizes


@pytest.mark.parametrize(
    ("before", "after", "noted"),
    [
        ((4, 8, 6), (4, 2, 8, 3), True),  # heads before time
        ((4, 8, 6), (4, 8, 2, 3), False),  # a split
        ((4, 8, 6), (32, 6), False),  # a merger
        ((4, 6), (8, 3), False),  # neither; but nothing moved as a whole either
        ((2, 3, 4), (4, 3, 2), True),
        ((6,), (3, 2), False),
    ],
)
def test_a_dimension_that_moves_by_a_reshape_is_noted(before, after, noted):
    x = jax.ShapeDtypeStruct(before, jnp.float32)
    facts = Facts(trace(lambda x: x.reshape(after), [x], {}), None, None)
    assert bool(facts.axes.reshuffles) == noted


def test_a_declaration_of_the_wrong_rank_names_the_leaf_and_both_numbers():
    traced = trace(lambda p: p["w"], [{"w": jnp.ones((2, 3))}], {})
    with pytest.raises(
        AxesError, match=r"`p\['w'\]` are declared as 'a b c', which names 3.*has 2"
    ):
        _ = Facts(traced, {"p": {"w": "a b c"}}, None).axes


class Point(NamedTuple):
    x: jax.Array
    y: jax.Array


@jax.tree_util.register_dataclass
@dataclass
class Pair:
    first: Point
    second: jax.Array


def test_a_dict_describes_records_by_their_fields():
    """Also some of the fields only; `['x']` is `.x`."""
    point = Point(jnp.ones((2, 3)), jnp.ones(4))
    traced = trace(lambda p, q: p.first.x, [Pair(point, jnp.ones(5)), point], {})
    declared = {"p": {"first": {"x": "batch feat"}, "second": "time"}, "q": Point("a b", "c")}
    facts = Facts(traced, declared, None)
    names = {
        leaf.name: names_of(leaf, traced.inputs, facts.declared_axes) for leaf in traced.inputs
    }
    assert names == {
        "p.first.x": ("batch", "feat"),
        "p.first.y": (None,),
        "p.second": ("time",),
        "q.x": ("a", "b"),
        "q.y": ("c",),
    }
    assert facts.axes.names(facts.program.body.outputs[0]) == ("batch", "feat")


def test_a_tuple_describes_records_by_the_order_of_their_fields():
    point = Point(jnp.ones((2, 3)), jnp.ones(4))
    traced = trace(lambda p, q: p.first.x, [Pair(point, jnp.ones(5)), (point, jnp.ones(6))], {})
    declared = {"p": (["batch feat", "time"], ""), "q": (("a b", "c"), "d")}
    names = {leaf.name: names_of(leaf, traced.inputs, declared) for leaf in traced.inputs}
    assert names == {
        "p.first.x": ("batch", "feat"),
        "p.first.y": ("time",),
        "p.second": (None,),
        "q[0].x": ("a", "b"),
        "q[0].y": ("c",),
        "q[1]": ("d",),
    }
    with pytest.raises(AxesError, match=r"`p\[0\]`, which is not there"):
        _ = Facts(traced, {"p": ("batch feat", "time", "batch")}, None).axes


def test_a_name_stands_for_a_whole_part_and_not_for_its_namesakes():
    traced = trace(lambda p: p, [{"w": {"a": jnp.ones(2)}, "w2": jnp.ones(3)}], {})
    names = [names_of(leaf, traced.inputs, {"p": {"w": "batch"}}) for leaf in traced.inputs]
    assert names == [("batch",), (None,)]


def test_a_declaration_of_what_is_not_there():
    traced = trace(lambda p: p.x, [Point(jnp.ones(2), jnp.ones(2))], {})
    there = r"for `p.z`, which is not there; did you mean p.[xy] or p.[xy]"
    with pytest.raises(AxesError, match=there):
        _ = Facts(traced, {"p": {"z": "batch"}}, None).axes


def test_every_primitive_is_followed_or_known_to_be_unknown():
    from jax.extend.core import primitives

    from verax.audit.trace.axes.tables import FRESH, RULES, UNKNOWN
    from verax.audit.trace.build import KINDS

    names = {getattr(primitives, name).name for name in dir(primitives) if name.endswith("_p")}
    held = {primitive.name for primitive in KINDS}
    assert not names - set(RULES) - held - FRESH - UNKNOWN
    assert not set(RULES) & (FRESH | UNKNOWN)


def test_an_unknown_primitive_gives_axes_without_names():
    def unknown(x):
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((2, 3), jnp.float32), x)

    assert output_names(lambda x: unknown(x) * 2, x="batch time") == ["_ _"]


# --- random programs


@st.composite
def operations(draw):
    """A function from one array to one, and how it is written."""
    kind = draw(
        st.sampled_from(
            [
                "transpose",
                "sum",
                "keep",
                "expand",
                "product",
                "vmap",
                "scan",
                "merge",
                "slice",
                "jit",
            ]
        )
    )
    axis, other = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    return kind, axis, other


def apply(operation, x):
    kind, axis, other = operation
    if x.ndim == 0:
        return x
    axis, other = axis % x.ndim, other % x.ndim
    match kind:
        case "transpose":
            return jnp.swapaxes(x, axis, other)
        case "sum":
            return x.sum(axis=axis)
        case "keep":
            return x - x.max(axis=axis, keepdims=True)
        case "expand":
            return jnp.expand_dims(x, axis).sum(axis=axis)
        case "product":
            new = jnp.ones((x.shape[axis], 13))
            return jnp.tensordot(x, new, axes=((axis,), (0,)))
        case "vmap":
            return jax.vmap(lambda row: 2.0 * row, in_axes=axis, out_axes=other)(x)
        case "scan":
            moved = jnp.moveaxis(x, axis, 0)
            return jax.lax.scan(lambda c, row: (c, row + c), 1.0, moved)[1]
        case "merge":
            return x.reshape(-1, *x.shape[2:]) if x.ndim > 1 else x
        case "slice":
            return jnp.flip(x, axis) + x
        case _:
            return jax.jit(lambda y: jnp.tanh(y) * y)(x)


def size_of(label: str) -> int:
    return prod(SIZES[name] for name in label.split("*"))


@given(st.lists(operations(), max_size=6), st.permutations(["batch", "time", "feat", "hid"]))
def test_named_dimensions_have_the_size_of_their_axis(program, names):
    def function(x):
        for operation in program:
            x = apply(operation, x)
        return x

    facts = facts_of(function, x=" ".join(names))
    (out,) = facts.program.body.outputs
    assert not facts.axes.clashes
    for size, label in zip(out.shape, facts.axes.names(out), strict=True):
        assert label is None or size_of(label) == size
    # All sizes but those of the products' own axis come from the input, and are recognised.
    known = [label for label in facts.axes.names(out) if label]
    assert len(known) == sum(size % 13 != 0 and size != 1 for size in out.shape)


def test_what_lies_between_neighbours_may_have_a_name_of_its_own():
    def clashes(function, names):
        shapes = [jax.ShapeDtypeStruct((size, 3), jnp.float32) for size in (5, 4)]
        return len(Facts(trace(function, shapes, {}), names, None).axes.clashes)

    edges = {"x": "sample dim", "w": "gap dim"}
    assert clashes(lambda x, w: jnp.diff(x, axis=0) * w, edges) == 0
    assert clashes(lambda x, w: w * (0.5 * (x[1:] + x[:-1])), edges) == 0
    # Nothing new is made of a stretch alone, and steps of time are no environments.
    assert clashes(lambda x, w: x[1:] * w, edges) == 1
    steps = {"x": "env dim", "w": "time dim"}
    assert clashes(lambda x, w: jnp.diff(x, axis=0) * w, steps) == 1


def test_a_window_that_is_weighed_by_a_kernel_is_no_clash():
    def convolve(x, kernel, start):
        window = jax.lax.dynamic_slice_in_dim(x, start, 3)
        return jnp.einsum("tf,tf->f", window, kernel)

    names = {"x": "time feat", "kernel": "width feat", "start": ""}
    shapes = [jax.ShapeDtypeStruct(it, jnp.float32) for it in ((7, 5), (3, 5))]
    traced = trace(convolve, [*shapes, jax.ShapeDtypeStruct((), jnp.int32)], {})
    assert not Facts(traced, names, None).axes.clashes
    whole = trace(lambda x, kernel: x * kernel, [shapes[1], shapes[1]], {})
    assert len(Facts(whole, {"x": "time feat", "kernel": "width feat"}, None).axes.clashes) == 1
