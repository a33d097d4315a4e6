"""Programs of any size, of which one that is twice as long should take twice as long."""

from __future__ import annotations

from collections.abc import Callable

HEAD = """\
import functools
from dataclasses import dataclass
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jax import lax
"""


def _lines(count: int, line: Callable[[int], str]) -> str:
    return "".join(f"{line(i)}\n" for i in range(count))


def _function(count: int, line: Callable[[int], str], arguments: str = "x, key") -> str:
    body = _lines(count, lambda i: "    " + line(i).replace("\n", "\n    "))
    return f"@jax.jit\ndef f({arguments}):\n{body}    return x\n"


def _list(count: int, part: Callable[[int], str]) -> str:
    return ", ".join(map(part, range(count)))


def _nested(count: int, start: str, around: Callable[[int, str], str]) -> str:
    for i in range(min(count, 30)):
        start = around(i, start)
    return start


FAMILIES: dict[str, Callable[[int], str]] = {
    "helpers that call the next one twice": lambda n: (
        _lines(n, lambda i: f"def f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(2 * x)")
        + f"def f{n}(x):\n    return jnp.sin(x)\ng = jax.jit(f0)\n"
    ),
    "lambdas that call the next one twice": lambda n: (
        _lines(n, lambda i: f"f{i} = lambda x: f{i + 1}(x) + f{i + 1}(2 * x)")
        + f"f{n} = jnp.sin\ng = jax.jit(lambda x: f0(x))\n"
    ),
    "jitted functions that call the next one twice": lambda n: (
        _lines(n, lambda i: f"@jax.jit\ndef f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(2 * x)")
    ),
    "functions that call each other": lambda n: _lines(
        n, lambda i: f"def f{i}(x):\n    return f{(i + 1) % n}(x) + f{(7 * i + 3) % n}(x)"
    ),
    "a diamond of calls": lambda n: _lines(
        n,
        lambda i: (
            f"def a{i}(x):\n    return a{i + 1}(x) + b{i + 1}(x)\n"
            f"def b{i}(x):\n    return b{i + 1}(x) * a{i + 1}(x)"
        ),
    ) + f"def a{n}(x):\n    return x\ndef b{n}(x):\n    return -x\ng = jax.jit(a0)\n",
    "a diamond of classes": lambda n: "class A0: pass\nclass B0: pass\n" + _lines(
        n,
        lambda i: (
            f"class A{i + 1}(A{i}, B{i}):\n    def f(self, x):\n        return self.g(x)\n"
            f"class B{i + 1}(A{i}, B{i}):\n    def g(self, x):\n        return self.f(x)"
        ),
    ),
    "closures": lambda n: "def f(x):\n" + _lines(
        n, lambda i: f"    def c{i}(y):\n        return y + x + {f'c{i - 1}(y)' if i else 'y'}"
    ) + f"    return [{_list(n, lambda i: f'c{i}')}]\n",
    "conditions in each other": lambda n: (
        "def f(x):\n"
        + _lines(min(n, 60), lambda i: " " * (i + 1) + f"if x > {i}:")
        + " " * 70 + "x = 0\n return x\n"
    ),
    "loops in each other": lambda n: (
        "def f(x):\n"
        + _lines(min(n, 19), lambda i: " " * (i + 1) + f"for i{i} in x:")
        + " " * 70 + "x = x + 1\n return x\n"
    ),
    "loops of an example in each other": lambda n: (
        "def inputs():\n    return (jnp.ones(3),)\ndef entry(x):\n"
        + _lines(min(n, 12), lambda i: " " * (i + 1) + f"for i{i} in (1, 2, 3, 4, 5, 6):")
        + " " * 70 + "x = x + 1\n return x\n"
    ),
    "comprehensions of an example in each other": lambda n: (
        "def inputs():\n    return (jnp.ones(3),)\ndef entry(x):\n    return "
        + _nested(n, "x", lambda i, it: f"[{it} for a{i} in (1, 2, 3, 4, 5, 6)]") + "\n"
    ),
    "branches in each other": lambda n: (
        "@jax.jit\ndef f(p, v):\n    return "
        + _nested(n, "v", lambda i, it: f"lax.cond(p > {i}, lambda v: {it}, lambda v: -v, v)")
        + "\n"
    ),
    "scans in each other, twice each": lambda n: (
        "def s0(c, x):\n    return c + x, x\n"
        + _lines(8 + n // 20, lambda i: (
            f"def s{i + 1}(c, x):\n    a, b = lax.scan(s{i}, c, x)\n"
            f"    return lax.scan(s{i}, a, x)[0], b"
        ))
        + f"g = jax.jit(s{8 + n // 20})\n"
    ),
    "tuples that hold the last one twice": lambda n: _function(
        n, lambda i: "x = (x, x)"
    ) + "y = f(jax.tree.map(jnp.sin, f(3, 4)), 0)\n",
    "dicts that hold the last one twice": lambda n: (
        "a = {}\n" + "a = {'a': a, 'b': a}\n" * n + "y = jax.jit(lambda x: x)(a)\n"
    ),
    "lists that double": lambda n: "a = [1, 2]\n" + "a = a + a\n" * n,
    "texts that double": lambda n: "a = 'ab'\n" + "a = a + a\n" * n,
    "texts a million times": lambda n: "a = 'ab'\n" + "a = a * 1000000\n" * n,
    "numbers that are squared": lambda n: "a = 3\n" + "a = a * a\n" * n,
    "sizes that are multiplied": lambda n: (
        "@jax.jit\ndef f(x):\n    n, m = x.shape\n"
        + "    n = n * n + m\n    m = m * n + 1\n" * min(n, 30)
        + "    return jnp.zeros((n, m))\n"
    ),
    "a large table that is read often": lambda n: (
        f"D = {{{_list(5 * n, lambda i: f'{i}: [{i}]')}}}\n"
        + _lines(n, lambda i: f"def f{i}(x):\n    return D[x][x], D.get(x), [*D.values()][x]")
    ),
    "partials of partials": lambda n: (
        "def f(*a, **k):\n    return a\n"
        + _lines(n, lambda i: f"f = functools.partial(f, {i}, k{i}={i})")
    ),
}  # fmt: skip

# Long programs without calls of calls, whose cost is what rules go through.
LONG: dict[str, Callable[[int], str]] = {
    "conditions in a row": lambda n: _function(n, lambda i: f"if key == {i}:\n    x = x + {i}"),
    "attempts in a row": lambda n: _function(
        n, lambda i: f"try:\n    y{i} = g(x)\nexcept ValueError:\n    y{i} = x"
    ),
    "cases": lambda n: "def f(x):\n    match x:\n" + _lines(
        n, lambda i: f"        case {i}:\n            y{i} = {i}"
    ),
    "keys": lambda n: _function(
        n, lambda i: "key, k = jax.random.split(key)\nx = x + jax.random.normal(k)"
    ),
    "fields": lambda n: (
        f"@struct.dataclass\nclass A:\n{_lines(n, lambda i: f'    a{i}: jax.Array')}"
        f"def step(a, x):\n    return a.replace({_list(n, lambda i: f'a{i}=a.a{i} + x')}), x\n"
        f"def f(xs, a: A):\n    return lax.scan(step, a, xs)\n"
    ),
    "carries": lambda n: (
        f"def step(c, x):\n    {_list(n, lambda i: f'a{i}')} = c\n"
        f"    return ({_list(n, lambda i: f'a{i} + x')}), None\n"
        f"def f(xs):\n    return lax.scan(step, ({_list(n, lambda i: '0.0')}), xs)\n"
    ),
    "maps": lambda n: _function(n, lambda i: "x = jax.vmap(lambda y: y * key)(x)"),
    "many functions": lambda n: _lines(
        n, lambda i: f"def f{i}(x, key):\n    return jnp.sin(x) + jax.random.normal(key)"
    ),
    "many jitted functions": lambda n: _lines(
        n, lambda i: f"@jax.jit\ndef f{i}(x, key):\n    return jnp.sin(x) + jax.random.normal(key)"
    ),
    "updates of an optimiser": lambda n: (
        "def f(opt, params, grads, state):\n"
        + "    updates, state = opt.update(grads, state)\n"
        "    params = optax.apply_updates(params, updates)\n" * n
        + "    return params, state\n"
    ),
    "parameters that nobody reads": lambda n: (
        f"@jax.jit\ndef f({_list(n, lambda i: f'p{i}')}):\n    return 1\n"
    ),
    "parameters that are summed": lambda n: (
        f"@jax.jit\ndef f({_list(n, lambda i: f'p{i}: jax.Array')}):\n"
        f"    return jnp.mean({' + '.join(f'p{i}' for i in range(n))})\n"
    ),
    "parameters of which something is made": lambda n: (
        f"def f({_list(n, lambda i: f'p{i}')}):\n"
        + _lines(n, lambda i: f"    x{i} = jnp.sin(p{i}) * p{i}") + "    return p0\n"
    ),
    "parameters of a target network": lambda n: (
        f"def f({_list(n, lambda i: f'target_params_{i}, params_{i}')}):\n"
        + _lines(n, lambda i: f"    a{i} = params_{i} * 2") + "    return a0\n"
    ),
    "arguments by name": lambda n: (
        f"def f({_list(n, lambda i: f'p{i}')}):\n    return p0\n"
        f"def g(x):\n    return f({_list(n, lambda i: f'p{i}=x')})\n"
    ),
    "arguments by position": lambda n: (
        f"def f({_list(n, lambda i: f'p{i}')}):\n    return p0\n"
        f"@jax.jit\ndef g({_list(n, lambda i: f'q{i}')}):\n"
        f"    return f({_list(n, lambda i: f'q{i}')})\n"
    ),
    "statements": lambda n: _function(n, lambda i: f"x = jnp.sin(x) + {i}"),
    "names": lambda n: _function(n, lambda i: f"y{i} = jnp.sin({f'y{i - 1}' if i else 'x'})"),
    "alternatives": lambda n: "def f(x, c):\n    if c == 0:\n        y = x\n" + _lines(
        n, lambda i: f"    elif c == {i + 1}:\n        y = jnp.sin(x)"
    ) + "    return x\n",
    "loops in a row": lambda n: _function(n, lambda i: f"for i{i} in range(9):\n    x = x + i{i}"),
    "scans in a row": lambda n: _function(
        n,
        lambda i: (
            f"def body{i}(c, s):\n    return c + s, c\ny{i} = lax.scan(body{i}, x, key)"
        ),
    ),
    "elements that are set": lambda n: _function(n, lambda i: f"x = x.at[{i}].set({i})"),
    "copies with another field": lambda n: (
        f"@struct.dataclass\nclass A:\n{_lines(n, lambda i: f'    a{i}: jax.Array')}def f(s):\n"
        + _lines(n, lambda i: f"    s = s.replace(a{i}=s.a{i} + 1)") + "    return s\n"
    ),
    "methods": lambda n: (
        "class A:\n    def __init__(self):\n        self.x = 0\n"
        + _lines(n, lambda i: f"    def f{i}(self, y):\n        self.x = self.x + y")
    ),
    "classes in a row": lambda n: _lines(
        n, lambda i: f"class A{i}:\n    def f(self, y):\n        return self.x + jnp.sin(y)"
    ),
    "imports": lambda n: _lines(n, lambda i: f"import a{i}\nfrom b{i} import c{i} as d{i}"),
    "decorators": lambda n: "@jax.jit\n" * n + "def f(x):\n    return x\n",
    "maps of one function": lambda n: (
        "def f(x, y):\n    return x + y\n" + _lines(n, lambda i: f"g{i} = jax.vmap(f)")
    ),
    "clauses of a comprehension": lambda n: (
        f"def f(x):\n    return [x {' '.join(f'for y{i} in x if y{i}' for i in range(n))}]\n"
    ),
    "comprehensions in a row": lambda n: _function(n, lambda i: f"a{i} = [y + {i} for y in x]"),
    "a long expression": lambda n: _function(1, lambda i: f"x = x{' + jnp.sin(x)' * n}"),
    "a deep expression": lambda n: _function(1, lambda i: f"x = {'jnp.sin(' * n}x{')' * n}"),
    "a dict of arrays": lambda n: _function(
        1, lambda _: f"x = jax.tree.map(jnp.sin, {{{_list(n, lambda i: f'{i}: jnp.sin(x)')}}})"
    ),
    "a list of arrays": lambda n: _function(
        1, lambda _: f"x = jnp.stack([{_list(n, lambda i: 'jnp.sin(x)')}])"
    ),
    "a chain of calls": lambda n: "def f0(x):\n    return x\n" + _lines(
        n, lambda i: f"def f{i + 1}(x):\n    return f{i}(x) + 1"
    ) + f"g = jax.jit(f{n})\n",
    "functions that call themselves": lambda n: _lines(
        n, lambda i: f"def f{i}(x):\n    return f{i}(x - 1) + f{i}(x - 2)"
    ),
}  # fmt: skip
