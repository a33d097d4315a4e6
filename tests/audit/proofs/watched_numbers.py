"""Random programs of numbers that may be undefined or outside, and what they do when they run.

A program is a text for JAX. To see what its lines get, it also runs step by step: its loops are
loops of Python, and every quotient, logarithm and index first says what it works on. What that is
comes from JAX itself, on concrete numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

HEADER = """\
import jax
import jax.numpy as jnp
from jax import vmap
from jax.lax import cond, dynamic_slice, fori_loop, scan


"""
RANGES = {"x": (-2.0, 3.0), "p": (0.5, 2.0), "n": (0, 4), "m": (1, 2)}
TABLES = {"table": (6,), "grid": (3, 5)}
ARGUMENTS = "x, p, n, m, table, grid"
SIZE = 3


def example(corner: Callable[[float, float], float]) -> list[Any]:
    """Arguments of a program, with numbers that a function chooses between two bounds."""
    floats = [
        jnp.array([corner(*RANGES[name]) for _ in range(SIZE)], jnp.float32) for name in ("x", "p")
    ]
    integers = [jnp.int32(round(corner(*RANGES[name]))) for name in ("n", "m")]
    return [*floats, *integers, *(jnp.ones(shape) for shape in TABLES.values())]


_UNDEFINED: dict[str, Callable[[Any], Any]] = {
    "log": lambda x: x <= 0,
    "log1p": lambda x: x <= -1,
    "sqrt": lambda x: x < 0,
    "rsqrt": lambda x: x <= 0,
    "arccos": lambda x: abs(x) > 1,
    "division": lambda x: x == 0,
}


class Run:
    """One run of a program: the lines at which something was undefined, or outside."""

    def __init__(self, program: str):
        self.undefined: set[tuple[str, int]] = set()
        self.outside: set[int] = set()
        tree = ast.fix_missing_locations(_Watching().visit(ast.parse(HEADER + program)))
        self._names: dict[str, Any] = {"_operate": self._operate, "_index": self._index}
        exec(compile(tree, "program", "exec"), self._names)
        self._names |= {"cond": _cond, "fori_loop": _fori_loop, "scan": _scan, "vmap": _vmap}
        self._names["dynamic_slice"] = lambda *args: jax.lax.dynamic_slice(*args)

    def of(self, arguments: list[Any]) -> None:
        self._names["entry"](*arguments)

    def _operate(self, line: int, name: str, *operands: Any) -> Any:
        last = np.asarray(operands[-1], np.float32)
        call = {"division": jnp.divide, "rsqrt": jax.lax.rsqrt}.get(name) or getattr(jnp, name)
        result = call(*operands)
        was_nan = sum(np.isnan(np.asarray(it, np.float32)) for it in operands)
        bad = _UNDEFINED[name](last) | np.isnan(last) | (np.isnan(np.asarray(result)) > was_nan)
        if bad.any():
            self.undefined.add((name, line))
        return result

    def _index(self, line: int, base: Any, index: Any, taken: int = 1) -> Any:
        array = getattr(base, "array", base)
        parts = index if isinstance(index, tuple) else (index,)
        for part, size in zip(parts, array.shape, strict=False):
            if not isinstance(part, slice):
                numbers = np.asarray(part)
                if ((numbers < -size) | (numbers > size - taken)).any():
                    self.outside.add(line)
        return base[index]


class _Watching(ast.NodeTransformer):
    """Makes calls of what is to be watched."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):
            return _call("_operate", node.lineno, ast.Constant("division"), node.left, node.right)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in _UNDEFINED:
            return _call("_operate", node.lineno, ast.Constant(name), *node.args)
        if isinstance(node.func, ast.Name) and node.func.id == "dynamic_slice":
            array, (start,), (size,) = node.args[0], node.args[1].elts, node.args[2].elts
            check = _call("_index", node.lineno, array, start, size)
            return ast.Subscript(ast.List([check, node], ast.Load()), ast.Constant(1), ast.Load())
        if name == "take":
            return _call("_index", node.lineno, *node.args)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Slice):
            return node
        return _call("_index", node.lineno, node.value, node.slice)


def _call(name: str, line: int, *args: Any) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(line), *args], [])


def _stacked(rows: list[Any]) -> Any:
    return jax.tree.map(lambda *parts: jnp.stack(parts), *rows)


def _fori_loop(low: int, high: int, body: Any, carry: Any) -> Any:
    for number in range(low, high):
        carry = body(jnp.int32(number), carry)
    return carry


def _scan(body: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
    rows: list[Any] = []
    for x in xs:
        carry, row = body(carry, x)
        rows.append(row)
    return carry, _stacked(rows)


def _vmap(function: Any) -> Any:
    return lambda *args: _stacked([function(*lane) for lane in zip(*args, strict=True)])


def _cond(flag: Any, one: Any, other: Any, *args: Any) -> Any:
    return one(*args) if flag else other(*args)


class _Writer:
    """Writes one program on scalars, vectors and integers, choosing by what hypothesis draws."""

    def __init__(self, draw: st.DrawFn):
        self._draw, self._count = draw, 0
        self.lines: list[str] = []
        self.helpers: list[str] = []

    def pick(self, options: list[Any]) -> Any:
        return self._draw(st.sampled_from(options))

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def number(self, floats: list[str]) -> str:
        """An expression of a float: often one that is bounded."""
        x = self.pick(floats)
        ways = ["{x}", "{x}", "jnp.maximum({x}, {c})", "jnp.clip({x}, {c}, 2.0)", "jnp.exp({x})"]
        ways += ["({c} + jnp.square({x}))", "jnp.where({x} > {c}, {x}, 1.5)", "jnp.abs({x})"]
        ways += [
            "jnp.where({x} != 0, {x}, 1.0)",
            "jnp.tanh({x})",
            "({x} - {c})",
            "jax.nn.relu({x})",
        ]
        ways += ["jnp.exp(40 * {x})", "jax.nn.sigmoid({x})", "({c} * {x})", "-{x}"]
        return self.pick(ways).format(x=x, c=self.pick(["0.0", "0.5", "1.0", "-1.0", "0.1"]))

    def operation(self, floats: list[str]) -> str:
        a, b = self.number(floats), self.number(floats)
        ways = ["jnp.log({a})", "jnp.sqrt({a})", "jnp.log1p({a})", "jax.lax.rsqrt({a})"]
        ways += [
            "jnp.arccos({a})",
            "{b} / {a}",
            "{b} / {a}",
            "1 / {a}",
            "h({b}, {a})",
            "h({a}, {b})",
        ]
        return self.pick(ways).format(a=a, b=b)

    def integer(self, integers: list[str]) -> str:
        i, j = self.pick(integers), self.pick(integers)
        ways = ["{i}", "{i}", "{i} + 1", "{i} - 1", "{i} % 3", "{i} // 2", "jnp.clip({i}, 0, 2)"]
        ways += ["jnp.minimum({i}, {j})", "jnp.where({i} < 3, {i}, 0)", "{i} + {j}", "4 - {i}"]
        return self.pick(ways).format(i=i, j=j)

    def access(self, integers: list[str]) -> str:
        i, j = self.integer(integers), self.integer(integers)
        ways = ["table[{i}]", "grid[{i}, {j}]", "grid[{i}][{j}]", "jnp.take(table, {i})", "g({i})"]
        ways += ["jnp.sum(dynamic_slice(table, ({i},), (3,)))", "jnp.sum(table.at[{i}].set(2.0))"]
        ways += ["jnp.sum(grid.at[{i}, {j}].add(1.0))", "jnp.sum(grid[:, {i}])", "g({j})"]
        return self.pick(ways).format(i=i, j=j)

    def block(self, depth: int, floats: list[str], scalars: list[str], integers: list[str]) -> None:
        """Some statements on vectors, scalars and integers, which grow."""
        for _ in range(self._draw(st.integers(1, 4))):
            kinds = ["operate", "operate", "access", "access", "integer"]
            kind = self.pick(kinds + ["fori", "scan", "cond", "vmap"] * (depth < 3))
            getattr(self, f"_{kind}")(depth, floats, scalars, integers)

    def _operate(self, depth: int, floats: list[str], scalars: list[str], _: list[str]) -> None:
        pool = self.pick([floats, scalars] if floats else [scalars])
        name, more = self.name("v"), self.pick(["", " + ", " * "])
        text = self.operation(pool) + (more + self.operation(pool) if more else "")
        self.line(depth, f"{name} = {text}")
        pool.append(name)

    def _access(self, depth: int, _: list[str], scalars: list[str], integers: list[str]) -> None:
        name, more = self.name("s"), self.pick(["", "", " + "])
        text = self.access(integers) + (more + self.access(integers) if more else "")
        self.line(depth, f"{name} = {text}")
        scalars.append(name)

    def _integer(self, depth: int, floats: list[str], _: list[str], integers: list[str]) -> None:
        name = self.name("i")
        ways = [self.integer(integers)]
        if floats:
            ways += [f"jnp.{it}({self.pick(floats)})" for it in ("argmax", "argmin")]
            ways.append(f"jnp.sum({self.pick(floats)} > 0.0)")
        self.line(depth, f"{name} = {self.pick(ways)}")
        integers.append(name)

    def _fori(self, depth: int, floats: list[str], scalars: list[str], integers: list[str]) -> None:
        body, i, k, s, k2, s2 = (self.name(it) for it in "fikskv")
        self.line(depth, f"def {body}({i}, carry):")
        self.line(depth + 1, f"{k}, {s} = carry")
        own = [*integers, i, i, k], [*scalars, s, s]
        self.block(depth + 1, [*floats], own[1], own[0])
        kept = self.integer(own[0]) if self.pick([True, False]) else k
        self.line(depth + 1, f"return jnp.int32({kept}), jnp.float32({self.number(own[1])})")
        start = f"jnp.int32({self.pick(integers)}), jnp.float32({self.pick(scalars)})"
        count = self.pick([1, 3, 4])
        self.line(depth, f"{k2}, {s2} = fori_loop(0, {count}, {body}, ({start}))")
        integers.append(k2)
        scalars.append(s2)

    def _scan(self, depth: int, floats: list[str], scalars: list[str], integers: list[str]) -> None:
        if not floats:
            return
        body, s, x, out, rows = (self.name(it) for it in "fsxsv")
        self.line(depth, f"def {body}({s}, {x}):")
        own = [*scalars, s, x]
        self.block(depth + 1, [], own, [*integers])
        self.line(depth + 1, f"return jnp.float32({self.number(own)}), {self.pick(own)} * 1.0")
        start = f"jnp.float32({self.pick(scalars)})"
        self.line(depth, f"{out}, {rows} = scan({body}, {start}, {self.pick(floats)})")
        scalars.append(out)
        floats.append(rows)

    def _vmap(self, depth: int, floats: list[str], scalars: list[str], integers: list[str]) -> None:
        if not floats:
            return
        body, x, i, rows = (self.name(it) for it in "fxiv")
        self.line(depth, f"def {body}({x}, {i}):")
        own = [*scalars, x, x]
        self.block(depth + 1, [], own, [*integers, i])
        self.line(depth + 1, f"return {self.number(own)}")
        self.line(depth, f"{rows} = vmap({body})({self.pick(floats)}, jnp.arange({SIZE}))")
        floats.append(rows)

    def _cond(self, depth: int, floats: list[str], scalars: list[str], integers: list[str]) -> None:
        bodies, out = [self.name("f"), self.name("f")], self.name("s")
        given, which = self.pick(scalars), self.pick(scalars)
        for body in bodies:
            s = self.name("s")
            self.line(depth, f"def {body}({s}):")
            own = [*scalars, s]
            self.block(depth + 1, [*floats], own, [*integers])
            self.line(depth + 1, f"return jnp.float32({self.number(own)})")
        asked = f"{which} > {self.pick(['0.0', '1.0'])}"
        self.line(depth, f"{out} = cond({asked}, {', '.join(bodies)}, jnp.float32({given}))")
        scalars.append(out)


@st.composite
def number_programs(draw: st.DrawFn) -> str:
    """The text of a program with an `entry` of `ARGUMENTS`, and two helpers that it may call."""
    writer = _Writer(draw)
    writer.line(0, f"def entry({ARGUMENTS}):")
    writer.line(1, "def h(a, b):")
    writer.line(2, f"return {writer.pick(['a / b', 'jnp.log(b)', 'jnp.sqrt(a) / b'])}")
    writer.line(1, "def g(i):")
    writer.line(2, f"return {writer.pick(['table[i]', 'grid[i, 1]', 'grid[0, i]'])}")
    writer.line(1, "s = jnp.max(p)")
    floats, scalars, integers = ["x", "p", "p"], ["s", "s"], ["n", "m", "m"]
    writer.block(1, floats, scalars, integers)
    writer.line(1, f"return [{', '.join([*floats, *scalars, *integers])}]")
    return "\n".join(writer.lines)
