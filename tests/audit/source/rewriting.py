"""Programs that nobody would write: real ones, with their syntax mixed up."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

# What a program may say that is harmless to read and costly to compute.
_HUGE = [
    "10**9",
    "2**10**9",
    "1 << 10**12",
    "'a' * 10**10",
    "[0] * 10**9",
    "(0,) * 10**9",
    "'%1000000000d' % 3",
    "f'{x:>1000000000}'",
    "'{:>999999999}'.format(3)",
    "range(10**12)",
    "list(range(10**9))",
    "bytes(10**10)",
    "float('1e999')",
    "-(10**400)",
    "1e400j",
    "x[10**20]",
    "x[::10**20]",
    "x.reshape(10**9, -10**9)",
    "jnp.zeros((10**9, 10**9))",
    "jax.random.split(key, 10**9)",
    "x.at[10**9].set(2**10**6)",
]
_ODD = [
    "(y := x)",
    "[y := x, y ** 2]",
    "(lambda *a, **k: a)(*x, **x)",
    "f(*x, *x, k=1, **x, **y)",
    "{**x, **y, 'a': x}",
    "{*x, *y}",
    "x if x else y",
    "(yield)",
    "(yield from x)",
    "await_",
    "...",
    "NotImplemented",
    "x[...]",
    "x[None, :, ::-1, ...]",
    "f'{x!r:{y}}'",
    "not x < y < x != x",
    "lambda: (lambda: x)()",
    "[i for i in x if i for j in i]",
    "{k: v for k, v in x.items()}",
    "super().__init__(x)",
    "type(x)(x)",
    "jax.jit(x)",
    "jax.jit(jax.jit)(jax.jit)",
    "jax.vmap(x, in_axes=x)(*x)",
    "jax.lax.scan(x, x, x)",
    "jax.lax.cond(x, x, x, x)",
    "jax.grad(x, argnums=x)(x)",
    "jax.tree.map(x, x, x)",
    "jax.random.split(x, -1)",
    "jnp.einsum(x, x)",
    "jnp.einsum('ij,jk->', x, -1)",
    "jnp.reshape()",
    "jax.lax.scan()",
    "jax.jit()",
    "functools.partial()",
    "isinstance()",
    "getattr(x)",
    "zip(*x, strict=x)",
    "max()",
    "sorted(x, key=x)",
    "range()",
    "len()",
    "int('x', x)",
    "dict(x, **x)",
]


def _expressions(texts: list[str]) -> list[ast.expr]:
    return [ast.parse(text, mode="eval").body for text in texts]


_SPECIAL = _expressions(_HUGE + _ODD)
_STATEMENTS = """\
del x
global x
x: int
x: x = x
x += x
x, *y = x
(x, [y, *z]), w = x
for x in x: break
for x[0] in x: continue
while True: pass
while x: x = x
with x as y, y as (z, w): pass
assert x, x
raise x from x
import jax as x
from jax import *
from . import x
from .... import x
def x(x=x, /, *x_, y: x = x, **z): return x(x)
async def x(): return [await y async for y in x]
class x(x, metaclass=x): x = x
try: x
except* x as y: pass
match x:
    case [x, *y] if x: pass
    case {"a": x, **y}: pass
    case x(y, z=1) | None: pass
    case _: pass
def x():
    def y():
        nonlocal_ = x
        return y
    return y
@x
@jax.jit
@functools.partial(jax.jit, static_argnums=x)
def y(x): return y(x)
class y:
    for i in range(10**9): x = i
    def __init__(self): self.x = self; self.f = jax.jit(self.__init__)
    @property
    def x(self): return self.x
lambda: x
return_ = x
"""


def statements_of(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


_SPECIAL_STATEMENTS = statements_of(_STATEMENTS)


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


def _statements(tree: ast.Module, chance: random.Random) -> None:
    """Swap, delete, double, or insert one."""
    body = chance.choice(list(_bodies(tree)))
    at, other = chance.randrange(len(body)), chance.randrange(len(body))
    kind = chance.choice(["swap", "delete", "double", "insert", "take"])
    if kind == "swap":
        body[at], body[other] = body[other], body[at]
    elif kind == "delete" and len(body) > 1:
        del body[at]
    elif kind == "double":
        body.insert(other, copy.deepcopy(body[at]))
    elif kind == "insert":
        body.insert(at, copy.deepcopy(chance.choice(_SPECIAL_STATEMENTS)))
    else:
        elsewhere = chance.choice(list(_bodies(tree)))
        body.insert(at, copy.deepcopy(chance.choice(elsewhere)))


def _names(tree: ast.Module, chance: random.Random) -> None:
    """Call things by each other's names."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    for _ in range(5 if names else 0):
        chance.choice(names).id = chance.choice(names).id
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    for _ in range(5 if attributes else 0):
        chance.choice(attributes).attr = chance.choice(attributes).attr


def _replaced(tree: ast.Module, chance: random.Random) -> None:
    """Put an expression where another one is: of the file, or a special one."""
    places = [
        (node, name, number)
        for node in ast.walk(tree)
        for name, value in ast.iter_fields(node)
        for number, it in enumerate(value if isinstance(value, list) else [value])
        if isinstance(it, ast.expr) and isinstance(getattr(it, "ctx", ast.Load()), ast.Load)
        and not isinstance(node, (ast.JoinedStr, ast.FormattedValue, ast.pattern))
    ]  # fmt: skip
    for _ in range(3 if places else 0):
        node, name, number = chance.choice(places)
        source, field, index = chance.choice(places)
        other = getattr(source, field)
        new = other[index] if isinstance(other, list) and index < len(other) else other
        if chance.random() < 0.5 or not isinstance(new, ast.expr):
            new = chance.choice(_SPECIAL)
        value = getattr(node, name)
        if not isinstance(value, list):
            setattr(node, name, copy.deepcopy(new))
        elif number < len(value):
            value[number] = copy.deepcopy(new)


def _deeper(tree: ast.Module, chance: random.Random) -> None:
    """Put statements into something around them."""
    body = chance.choice(list(_bodies(tree)))
    text = chance.choice(
        ["if x: pass", "for x in x: pass", "while x: pass", "def f(x): pass", "class f(f): pass",
         "try: pass\nexcept x: pass", "with x: pass", "match x:\n case _: pass",
         "@jax.jit\ndef f(x): pass", "async def f(): pass"]
    )  # fmt: skip
    outer = statements_of(text)[0]
    inner = outer.cases[0].body if isinstance(outer, ast.Match) else outer.body  # type: ignore
    inner[:] = body[:]
    body[:] = [outer]


_CHANGES: list[Callable[[ast.Module, random.Random], None]] = [
    _statements,
    _statements,
    _names,
    _replaced,
    _replaced,
    _deeper,
]


def rewritten(text: str, chance: random.Random, times: int) -> str:
    """A program with its syntax changed a number of times."""
    tree = ast.parse(text)
    for _ in range(times):
        chance.choice(_CHANGES)(tree, chance)
    return ast.unparse(ast.fix_missing_locations(tree))
