"""Programs of two sizes: the audit of one that is twice as long is about twice the work.

A program is made of a few shapes of code, each of them repeated as often as the size says: in the
body of one function, one inside of the other as far as Python allows, or as parameters and
arguments. Work is the number of lines of Python that run, and no time, so that a case is the same
each time.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from verax.audit.source.analyse import audit_text

HEAD = "import functools\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n"
SIZE = 40
# More than n log n, and less than squares.
MOST = 3.0
# What no limit bounds would be counted for minutes otherwise.
ENOUGH = 40_000_000

# Statements of a function that has `x`, `y` and `key`; `{i}` counts them.
STATEMENTS = (
    "x = jnp.sin(x) + {i}",
    "a{i} = x * y",
    "x = x.at[{i}].set(y)",
    "key, k{i} = jax.random.split(key)\nx = x + jax.random.normal(k{i}, x.shape)",
    "if {i}:\n    x = -x\nelse:\n    y = x",
    "if y is None:\n    return x + {i}",
    "for i{i} in range(9):\n    x = x + i{i}",
    "while y > {i}:\n    y = y - 1",
    "try:\n    y = g({i})\nexcept ValueError:\n    y = x",
    "with g(x) as b{i}:\n    y = b{i}",
    "c{i} = [it + {i} for it in x]",
    "d{i} = {{'a': x, 'b': (y, [x])}}",
    "e{i} = lambda z: z + x",
    "def h{i}(z):\n    return z + x",
    "z{i}, _ = lax.scan(lambda c, s: (c + s, c), x, y)",
    "v{i} = jax.vmap(lambda z: z * y)(x)",
    "g{i} = jax.grad(lambda z: jnp.mean(z * y))(x)",
    "assert x.shape == ({i},)",
    "x, y = y, x",
    "state_{i} = g(x, y, target={i})",
)
# What is at the top of a module.
DEFINITIONS = (
    "import m{i}",
    "from p{i} import q{i} as r{i}",
    "G{i} = jnp.ones({i})",
    "def f{i}(x, key):\n    return jnp.sin(x) + jax.random.normal(key)",
    "@jax.jit\ndef j{i}(x):\n    return x + {i}",
    "class C{i}:\n    def __init__(self, x):\n        self.x = x\n    def f(self, y):\n"
    "        return self.x + y",
    "s{i} = jax.jit(lambda x: x + {i})",
    "T{i} = {{'a': [1, 2], 'b': (3, {i})}}",
)
# An expression around another one.
AROUND = ("jnp.sin({})", "-{}", "({} + y)", "{}[0]", "{}.T", "[{}]", "(lambda z: z)({})")


def program(rng: random.Random) -> Callable[[int], str]:
    """A program that can be had in any size."""
    parts = [rng.choice(_PARTS)(rng, number) for number in range(rng.randint(1, 3))]
    return lambda size: HEAD + "".join(part(size) for part in parts)


def _body(rng: random.Random, number: int) -> Callable[[int], str]:
    chosen = rng.sample(STATEMENTS, rng.randint(1, 3))
    head = rng.choice(("", "@jax.jit\n")) + f"def body{number}(x, y, key):\n"
    return lambda size: head + _indented(_repeated(chosen, size)) + "    return x, y\n"


def _module(rng: random.Random, number: int) -> Callable[[int], str]:
    chosen = rng.sample(DEFINITIONS, rng.randint(1, 3))
    return lambda size: _repeated(chosen, size)


def _parameters(rng: random.Random, number: int) -> Callable[[int], str]:
    name = rng.choice(("p{i}", "target_{i}, online_{i}", "p{i}=0", "key_{i}", "next_{i}, done_{i}"))
    chosen = rng.choice(STATEMENTS)
    head = rng.choice(("", "@jax.jit\n")) + f"def many{number}(x, y, key, "
    how_often = rng.choice((0, 1))

    def part(size: int) -> str:
        names = ", ".join(name.format(i=i) for i in range(size))
        body = _indented(_repeated([chosen], size * how_often))
        return head.replace("x, y, key", "x=0, y=0, key=0" if "=" in name else "x, y, key") + (
            f"{names}):\n{body}    return x\n"
        )

    return part


def _arguments(rng: random.Random, number: int) -> Callable[[int], str]:
    form = rng.choice(("x", "x=x", "x + {i}", "jnp.sin(x)"))
    callee = rng.choice(("(*a)", "({names})"))

    def part(size: int) -> str:
        names = ", ".join(f"p{i}" for i in range(size))
        given = ", ".join(form.replace("x=", f"p{i}=").format(i=i) for i in range(size))
        parameters = callee.format(names=names).replace("(*a)", "(*a, **k)")
        return (
            f"def taken{number}{parameters}:\n    return 0\n"
            f"def giving{number}(x):\n    return taken{number}({given})\n"
        )

    return part


def _collection(rng: random.Random, number: int) -> Callable[[int], str]:
    item = rng.choice(("{i}", "jnp.ones({i})", "x", "'{i}'", "(x, {i})"))
    form = rng.choice(("[{}]", "({},)", "dict(zip('ab', [{}]))", "jnp.stack([{}])", "{{{}}}"))

    def part(size: int) -> str:
        items = ", ".join(item.format(i=i) for i in range(size))
        return f"def held{number}(x):\n    return {form.format(items)}\n"

    return part


def _chain(rng: random.Random, number: int) -> Callable[[int], str]:
    joint = rng.choice((" + ", " and ", " == ", " @ ", " if x else "))
    term = rng.choice(("x", "jnp.sin(x)", "x[0]"))
    return lambda size: f"def long{number}(x):\n    return {joint.join([term] * (size + 1))}\n"


def _deep(rng: random.Random, number: int) -> Callable[[int], str]:
    around = rng.choice(AROUND)

    def part(size: int) -> str:
        expression = "x"
        for _ in range(size):
            expression = around.format(expression)
        return f"def deep{number}(x, y):\n    return {expression}\n"

    return part


def _calls(rng: random.Random, number: int) -> Callable[[int], str]:
    jitted = rng.choice(("", "@jax.jit\n"))
    step, times = rng.choice((1, 3, 7)), rng.randint(1, 2)

    def part(size: int) -> str:
        called = " + ".join(f"c{number}_{{it}}(x)" for _ in range(times))
        return "".join(
            f"{jitted}def c{number}_{i}(x):\n    return {called.format(it=(i * step + 1) % size)}\n"
            for i in range(size)
        )

    return part


_PARTS = (_body, _body, _module, _parameters, _arguments, _collection, _chain, _deep, _calls)


def _repeated(texts: list[str], size: int) -> str:
    return "".join(f"{text.format(i=i)}\n" for i in range(size) for text in texts)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def work(text: str) -> int:
    """How many lines of Python an audit runs."""
    count = 0

    def step(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        nonlocal count
        count += 1
        return step if count < ENOUGH else None

    before = sys.gettrace()
    sys.settrace(step)
    try:
        audit_text(text, strict=True)
    finally:
        sys.settrace(before)
    return count


def run(rng: random.Random) -> str | None:
    """Audit a random program in two sizes; in a third where a limit may not have been reached.

    Raises:
        AssertionError: The longer one is far more than twice the work.
    """
    make = program(rng)
    sizes = [SIZE, 2 * SIZE, 4 * SIZE]
    try:
        for size in sizes:
            compile(make(size), "program.py", "exec")
    except (SyntaxError, RecursionError, MemoryError):
        return "not Python"
    audit_text(make(3))  # What is loaded at first is no work of the program's.
    counts = [work(make(size)) for size in sizes[:2]]
    if counts[1] <= MOST * counts[0]:
        return "in proportion"
    counts.append(work(make(sizes[2])))
    if counts[2] <= MOST * counts[1]:
        return "in proportion beyond a limit"
    raise AssertionError(f"for sizes {sizes} {counts} lines of Python run:\n{make(3)}")
