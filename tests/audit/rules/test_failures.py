"""Programs that cannot be traced: which rule speaks, where, and that it says what matters."""

from textwrap import dedent

import pytest

from verax.audit.report import Report
from verax.audit.run import audit_source

_HEADER = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
"""


def audited(program: str) -> Report:
    return audit_source(_HEADER + dedent(program), strict=True)


def line_of(program: str) -> int:
    source = (_HEADER + dedent(program)).splitlines()
    return next(number for number, line in enumerate(source, 1) if line.endswith("# here"))


X = "def inputs(): return (jnp.ones((3, 4)),)\n"
XN = "def inputs(): return jnp.ones((3, 4)), jnp.int32(2)\n"

# Code, words that its finding must have, and the program.
CASES = {
    "if": (
        "JT201",
        ("`n` is i32[]", "jnp.where"),
        XN
        + """
def entry(x, n):
    if n > 1:  # here
        x = x + 1
    return x
""",
    ),
    "while": (
        "JT201",
        ("while_loop",),
        XN
        + """
def entry(x, n):
    while n > 1:  # here
        n = n - 1
    return n
""",
    ),
    "assert": (
        "JT201",
        ("runtime_assert",),
        X
        + """
def entry(x):
    assert x.sum() > 0  # here
    return x
""",
    ),
    "float": (
        "JT202",
        ("float",),
        X
        + """
def entry(x):
    return float(x[0, 0])  # here
""",
    ),
    "numpy": (
        "JT202",
        ("NumPy", "f32[3,4]"),
        X
        + """
def entry(x):
    return np.sort(x)  # here
""",
    ),
    "list index": (
        "JT202",
        ("list",),
        XN
        + """
def entry(x, n):
    return [x, x][n]  # here
""",
    ),
    "zeros": (
        "JT203",
        ("static",),
        XN
        + """
def entry(x, n):
    return jnp.zeros(n)  # here
""",
    ),
    "cut": (
        "JT203",
        ("dynamic_slice",),
        XN
        + """
def entry(x, n):
    return x[:n]  # here
""",
    ),
    "nonzero": (
        "JT203",
        ("`size`",),
        X
        + """
def entry(x):
    return jnp.nonzero(x)  # here
""",
    ),
    "list": (
        "JT204",
        ("list",),
        X
        + """
def entry(x):
    return jnp.max([x, x])  # here
""",
    ),
    "word": (
        "JT204",
        ("static",),
        X
        + """
@jax.jit
def apply(x, kind):
    return x

def entry(x):
    return apply(x, "relu")  # here
""",
    ),
    "static array": (
        "JT205",
        ("static",),
        X
        + """
def entry(x):
    return jax.jit(lambda a, b: a, static_argnums=1)(x, x)  # here
""",
    ),
    "branches": (
        "JT206",
        ("float32[3,4]", "float32[4]"),
        X
        + """
def entry(x):
    return lax.cond(x.sum() > 0, lambda: x, lambda: x[0])  # here
""",
    ),
    "condition": (
        "JT206",
        ("`jnp.any`",),
        X
        + """
def entry(x):
    return lax.cond(x > 0, lambda: x, lambda: x)  # here
""",
    ),
    "in place": (
        "JT207",
        ("`at`",),
        X
        + """
def entry(x):
    x[0] = 1.0  # here
    return x
""",
    ),
    "missing key": (
        "JT299",
        ("KeyError", "missing"),
        X
        + """
def entry(x):
    return {"a": x}["missing"]  # here
""",
    ),
    "the user's own error": (
        "JT299",
        ("ValueError: expected shape",),
        X
        + """
def entry(x):
    raise ValueError("expected shape (4,)")  # here
""",
    ),
    "dtype of a carry": (
        "SC201",
        ("int32[4]", "float32[4]", "jnp.float32"),
        X
        + """
def entry(x):
    total = jnp.zeros(4, jnp.int32)  # here
    return lax.scan(lambda c, row: (row * 2.0, None), total, x)[0]
""",
    ),
    "structure of a carry": (
        "SC201",
        ("structure",),
        X
        + """
def entry(x):
    return lax.scan(lambda c, row: ((c, row), None), x[0], x)  # here
""",
    ),
    "while carry": (
        "SC201",
        ("float32[3,4]", "float32[1,4]"),
        X
        + """
def entry(x):
    return lax.while_loop(lambda c: c.sum() < 3, lambda c: c[:1], x)  # here
""",
    ),
    "not a pair": (
        "SC202",
        ("pair",),
        X
        + """
def entry(x):
    return lax.scan(lambda c, row: c + row, x[0], x)  # here
""",
    ),
    "length": (
        "SC202",
        ("7", "3"),
        X
        + """
def entry(x):
    return lax.scan(lambda c, row: (c, row), 0.0, x, length=7)  # here
""",
    ),
    "product": (
        "AX201",
        ("contracts", "`x` is f32[3,4]"),
        X
        + """
def entry(x):
    return x @ x  # here
""",
    ),
    "joined": (
        "AX201",
        ("(3, 4), (4, 3)",),
        X
        + """
def entry(x):
    return jnp.concatenate([x, x.T])  # here
""",
    ),
    "no such axis": (
        "AX201",
        ("axis 2", "fewer axes"),
        X
        + """
def entry(x):
    return x.sum(axis=2)  # here
""",
    ),
    "unbound": (
        "VM201",
        ("'i'", "'batch'"),
        X
        + """
def entry(x):
    return jax.vmap(lambda r: lax.psum(r, "i"), axis_name="batch")(x)  # here
""",
    ),
    "sizes": (
        "VM202",
        ("`a`", "size 3", "`b`", "size 4"),
        X
        + """
def entry(x):
    return jax.vmap(lambda a, b: a.sum() + b.sum())(x, x.T)  # here
""",
    ),
    "rank": (
        "VM202",
        ("axis 0", "()"),
        X
        + """
def entry(x):
    return jax.vmap(lambda a, b: a * b)(x, 2.0)  # here
""",
    ),
    "out_axes": (
        "VM202",
        ("out_axes",),
        X
        + """
def entry(x):
    return jax.vmap(lambda a: a, out_axes=None)(x)  # here
""",
    ),
    "returned class": (
        "PT201",
        ("`Box`", "register"),
        X
        + """
class Box:
    def __init__(self, x):
        self.x = x

def entry(x):
    return jax.jit(lambda a: Box(a))(x).x  # here
""",
    ),
    "keys of trees": (
        "PT203",
        ("structure",),
        X
        + """
def entry(x):
    return jax.tree.map(lambda a, b: a, {"a": x}, {"b": x})  # here
""",
    ),
    "tuple loss": (
        "GR201",
        ("has_aux",),
        X
        + """
def entry(x):
    return jax.grad(lambda a: (a.sum(), a))(x)  # here
""",
    ),
    "no pair": (
        "GR201",
        ("pair",),
        X
        + """
def entry(x):
    return jax.grad(lambda a: a.sum(), has_aux=True)(x)  # here
""",
    ),
    "integer": (
        "GR202",
        ("int32", "argnums"),
        XN
        + """
def entry(x, n):
    return jax.grad(lambda k, a: a.sum() * k)(n, x)  # here
""",
    ),
}


@pytest.mark.parametrize(("code", "words", "program"), CASES.values(), ids=CASES.keys())
def test_a_failure_is_one_issue_at_the_users_line(code, words, program):
    report = audited(program)
    assert [(it.code, it.place.line) for it in report.issues] == [(code, line_of(program))]
    (issue,) = report.issues
    said = f"{issue.current} {issue.expected} {issue.fix}"
    assert [word for word in words if word not in said] == [], said
    assert "\n" not in said
    assert len(issue.current) < 400


@pytest.mark.parametrize(
    "around",
    [
        "jax.jit(f)(x)",
        "jax.vmap(f)(x)",
        "jax.grad(lambda x: f(x).sum())(x)",
        "jax.checkpoint(f)(x)",
        "kept(x)",
        "kept(x=x)",
        "jax.checkpoint(jax.jit(f))(x)",
        "jax.vmap(jax.checkpoint(f))(x)",
        "jax.grad(lambda x: kept(x).sum())(x)",
        "lax.scan(lambda c, row: (kept(c + row), None), x[0], x)",
        "by_jvp(x)",
        "by_vjp(x)",
        "jax.vmap(jax.jit(by_vjp))(x)",
        "jax.shard_map(f, mesh=MESH, in_specs=P('i'), out_specs=P('i'))(x)",
        "jax.vmap(lambda x: jax.shard_map(f, mesh=MESH, in_specs=P(), out_specs=P())(x))(x)",
        "jax.pmap(f)(x[:1])",
    ],
)
def test_what_comes_before_the_error_is_in_the_report(around):
    report = audited(f"""
        from jax.sharding import PartitionSpec as P

        MESH = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))

        def f(x):
            before = jnp.tanh(x)
            if before.sum() > 0:  # here
                return x
            return before

        kept = jax.checkpoint(f)
        by_jvp = jax.custom_jvp(f)
        by_jvp.defjvp(lambda primals, tangents: (by_jvp(*primals), tangents[0]))
        by_vjp = jax.custom_vjp(f)
        by_vjp.defvjp(lambda x: (by_vjp(x), None), lambda _, cotangent: (cotangent,))

        def entry(x):
            first = x * 2.0
            return {around}

        def inputs(): return (jnp.ones((3, 4)),)
    """)
    (flow,) = report.data_flow
    lines = [step.text for outer in flow.steps for _, step in outer.walk()]
    assert "first = x * 2.0" in lines
    assert "before = jnp.tanh(x)" in lines
    assert [it.code for it in report.issues] == ["JT201"]


def test_the_way_to_the_error_is_evidence():
    report = audited("""
        def inner(x):
            return float(x)

        def outer(x):
            return inner(x.sum())

        def entry(x):
            return outer(x)

        def inputs(): return (jnp.ones(3),)
    """)
    (issue,) = report.issues
    assert [it.text for it in issue.evidence] == [
        "called by `return outer(x)`",
        "called by `return inner(x.sum())`",
    ]


def test_both_ends_of_a_carry_are_evidence():
    report = audited("""
        def entry(w, x):
            def step(h, x_t):
                h = h[None] + x_t @ w
                return h, None

            h0 = jnp.zeros(w.shape[1])
            h, _ = lax.scan(step, h0, x)
            return h

        def inputs(): return jnp.ones((3, 5)), jnp.ones((6, 4, 3))
    """)
    (issue,) = report.issues
    places = {it.text: it.place.line for it in issue.evidence if it.place}
    assert places == {
        "enters as float32[5]": 11,
        "is handed on as float32[4,5]": 8,
        "the scan": 12,
    }
