"""What reading proves: said where it is certain, and nowhere else."""

import re
from pathlib import Path

import pytest

from verax.audit.source.analyse import audit_text
from verax.audit.source.engine import Options, audit_paths

HEAD = "import functools\nimport jax\nimport jax.numpy as jnp\n\n\n"


def proved(program: str, code: str) -> list[str]:
    """What is verified in quotes, by claims of one rule."""
    report = audit_text(HEAD + program, strict=True)
    claims = [it.claim for it in report.verified if it.code == code]
    return [re.findall(r"`([^`]+)`", claim)[-1] for claim in claims]


@pytest.mark.parametrize(
    "body",
    [
        "a, b = jax.random.split(key)\nreturn jax.random.normal(a) + jax.random.normal(b)",
        "keys = jax.random.split(key, 3)\nreturn [jax.random.normal(k) for k in keys]",
        "keys = jax.random.split(key)\n"
        "return jax.random.normal(keys[0], keys.shape) + jax.random.normal(keys[1])",
        "for _ in range(3):\n    key, sub = jax.random.split(key)\n    x = jax.random.normal(sub)\n"
        "return x",
        "if flag:\n    return jax.random.normal(key)\nreturn jax.random.uniform(key)",
        "x = jax.random.normal(key) if flag else jax.random.uniform(key)\nreturn x",
        "while flag:\n    key, sub = jax.random.split(key)\n    flag = jax.random.bernoulli(sub)\n"
        "return key",
        "key, sub = jax.random.split(key)\nflag += jax.random.normal(sub)\nreturn other(key, flag)",
        "return jax.random.normal(key=key)",
    ],
)
def test_each_key_is_used_once(body: str):
    lines = "\n    ".join(body.split("\n"))
    assert proved(f"def f(key, flag, other):\n    {lines}\n", "RK001") == ["f"]


@pytest.mark.parametrize(
    "body",
    [
        # Found to be wrong.
        "return jax.random.normal(key) + jax.random.uniform(key)",
        "return [jax.random.normal(key) for _ in range(3)]",
        # Handed on to somebody who may use it, too.
        "return jax.random.normal(key), other(key)",
        "same = key\nreturn jax.random.normal(same), other(key)",
        "flag.key = key\nreturn jax.random.normal(key)",
        "keys = jax.random.split(key)\nreturn jax.random.normal(keys[0]), other(keys)",
        "for k in jax.random.split(key):\n    jax.random.normal(k)\nreturn other(key)",
        "try:\n    x = jax.random.normal(key)\nexcept ValueError:\n    x = other(key)\nreturn x",
        "x = lambda: jax.random.normal(key)\nreturn jax.random.uniform(key), x",
        "def inner(x, key=key):\n    return other(key)\nreturn jax.random.normal(key), inner",
        # Of unknown origin: perhaps twice the same.
        "a, b = other(key)\nreturn jax.random.normal(a) + jax.random.normal(b)",
        "return jax.random.normal(flag.key), other(flag)",
        "key, x = flag\nreturn flag, jax.random.normal(key)",
        "return jax.random.normal(GLOBAL)",
        "keys = jax.random.split(key, 3)\n"
        "return jax.random.normal(keys[2]) + jax.random.normal(keys[-1])",
    ],
)
def test_keys_that_may_be_used_again(body: str):
    lines = "\n    ".join(body.split("\n"))
    program = f"GLOBAL = jax.random.key(0)\n\n\ndef f(key, flag, other):\n    {lines}\n"
    assert "f" not in proved(program, "RK001")


def test_the_body_of_a_scan_has_keys_of_its_own():
    program = """\
def walk(key, x):
    def step(carry, _):
        key, x = carry
        key, sub = jax.random.split(key)
        return (key, x + jax.random.normal(sub)), x

    return jax.lax.scan(step, (key, x), None, length=3)
"""
    assert proved(program, "RK001") == ["walk.step"]
    # What comes in is handed on, although it was used.
    reused = program.replace("return (key,", "return (carry[0],")
    assert proved(reused, "RK001") == []


def test_nothing_is_proved_of_what_a_caller_does_wrong():
    program = """\
def noise(key):
    return jax.random.normal(key)


def f(key):
    a, b = jax.random.split(key)
    return noise(a) + noise(a)
"""
    assert proved(program, "RK001") == []


def claims(program: str, code: str) -> list[tuple[str, str]]:
    report = audit_text(HEAD + program, strict=True)
    return [(it.claim, it.reason) for it in report.verified if it.code == code]


def test_carries_of_a_known_structure():
    program = """\
def run(xs):
    def step(carry, x):
        h, n = carry
        return (jnp.tanh(h + x), n + 1), h

    return jax.lax.scan(step, (jnp.zeros(3), 0), xs)
"""
    kept = ("the carry of the scan keeps its structure", "in and out it is a tuple of 2 arrays")
    assert claims(program, "SC201") == [kept]
    assert claims(program.replace("n + 1)", "n + 1, x)"), "SC201") == []
    # Whatever it starts from may be a tuple, too.
    assert claims(program.replace("(jnp.zeros(3), 0)", "xs[0]"), "SC201") == []


def test_a_loop_that_is_reached_in_two_ways():
    program = """\
def run(start):
    return jax.lax.fori_loop(0, 3, lambda i, x: jax.tree.map(jnp.sin, x), start)


a = run(jnp.zeros(3))
"""
    assert claims(program, "SC201") == []  # somebody else may start it from anything


def test_axes_for_every_argument():
    program = """\
def f(w, x):
    return w @ x


def g(w, xs):
    return jax.vmap(f, in_axes=(None, 0))(w, xs)
"""
    claim = "`in_axes` of vmap has an entry for each argument of `f`"
    reason = "1 of 2 arguments are mapped, 1 shared; the function takes 2"
    assert claims(program, "VM202") == [(claim, reason)]
    assert claims(program.replace("(None, 0)", "AXES"), "VM202") == []
    assert claims(program.replace("(None, 0)", "(None, 0, 0)"), "VM202") == []
    assert claims(program.replace("(w, xs)\n", "(*xs)\n"), "VM202") == []


def test_static_arguments_that_exist():
    program = """\
@functools.partial(jax.jit, static_argnames=("n",))
def f(x, n):
    return x * n
"""
    claim = "`f` has the parameters that its jit names"
    assert claims(program, "JT105") == [(claim, "static_argnames 'n'")]
    assert claims(program.replace('("n",)', '("m",)'), "JT105") == []
    assert claims(program.replace('("n",)', '("n", NAME)'), "JT105") == []
    assert claims("@jax.jit\ndef f(x):\n    return x\n", "JT105") == []


def test_names_of_axes_that_are_bound():
    program = """\
def centre(v):
    return v - jax.lax.pmean(v, "batch")


def f(xs):
    return jax.vmap(centre, axis_name="batch")(xs)
"""
    claim = "the axis 'batch' of `jax.lax.pmean(v, 'batch')` is bound"
    assert claims(program, "VM201") == [(claim, "by the map at line 11")]
    assert claims(program.replace('axis_name="batch"', "axis_name=NAME"), "VM201") == []
    # Called without the map somewhere, it is a finding.
    assert claims(program + "\n\nx = centre(jnp.ones(3))\n", "VM201") == []


BOX = """\
@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def tree_flatten(self):
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        low, high = children
        return cls(low, high)
"""


def test_classes_that_survive():
    reason = "its own functions, one after the other, give back low, high"
    assert claims(BOX, "PT101") == [("`Box` survives flattening", reason)]
    assert claims(BOX.replace("low, high = children", "high, low = children"), "PT101") == []
    # One that is kept elsewhere, or changed on the way.
    more = BOX.replace("low, high\n\n", "low, high\n        self.seen = 0\n\n", 1)
    assert claims(more, "PT101") == []
    assert claims(BOX.replace("cls(low, high)", "cls(low, high + 1)"), "PT101") == []


def test_rules_of_derivatives_that_fit():
    program = """\
@jax.custom_vjp
def shift(x, b):
    return x + b


def forward(x, b):
    return x + b, None


def backward(_, g):
    return g, g


shift.defvjp(forward, backward)


def f(x, b):
    return jax.grad(shift)(x, b)
"""
    reason = (
        "the forward rule a result and residuals, the backward rule 2 cotangents for 2 arguments"
    )
    assert claims(program, "GR016") == [
        ("the rules of `shift` return as much as they should", reason)
    ]
    assert claims(program.replace("return g, g", "return (g,)"), "GR016") == []
    assert claims(program.replace("return g, g", "return other(g)"), "GR016") == []


def test_a_folder_with_many_claims_is_told_in_few_lines(tmp_path: Path):
    draw = "import jax\n\n\ndef draw(key):\n    return jax.random.normal(key)\n"
    for number in range(20):
        (tmp_path / f"m{number:02}.py").write_text(draw)
    report = audit_paths([str(tmp_path)], Options(cache=False, sections=False))
    assert len(report.verified) == 20
    text = str(report)
    assert text.count("each random key is used once") == 2
    assert "… and 18 more of RK001; --format json lists all" in text
    assert report.to_markdown().count("each random key is used once") == 2
    assert report.to_json().count("each random key is used once") == 20
