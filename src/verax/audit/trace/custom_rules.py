"""Derivatives that the user wrote, held against those of the function they belong to.

Each function with `custom_jvp` or `custom_vjp` is run at random points, with its rule and without.
Some rules differ on purpose, and are left alone: those of functions that change nothing (gradient
reversal, clipping), of functions without a derivative (rounding, spikes), and those that differ
only where the true derivative is not finite, or larger than the rule's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, primitives

from ..._jax import (
    bind_primitive,
    closed,
    raw_frames,
    source_of_forward_rule,
    source_of_rule,
    watched_rule,
)
from ..errors import message_of
from ..finding import Place
from ..slopes import Sample, judge
from .gradients import CUSTOM_CALLS, is_inexact
from .keys import is_typed
from .places import UserCode
from .program import Step, Value
from .ranges.interval import Interval
from .regions import has_type, type_of
from .rerun import has_loop_without_end, may_be_run, runnable

if TYPE_CHECKING:
    from .facts import Facts

_POINTS = 6
# Larger functions are not run.
_MOST_ELEMENTS = 200_000
_MOST_DIRECTIONS = 500
_STEP = 1e-2
# Bounds farther away than this are only those of a dtype, or of no use.
_NEAR = 1e6


@dataclass(frozen=True, eq=False)
class CustomRule:
    """What came of running a rule.

    `verdict` is "agrees", "wrong", "raises", "other value" where the rule computes another result
    than the function does, or "unknown" where nothing can be said. `argument` is the position of
    the wrong derivative, or of the other result; `ratio` that of rule and truth, if it is the same
    everywhere.
    """

    step: Step
    function: str
    verdict: str
    place: Place
    argument: int = 0
    ratio: float | None = None
    message: str = ""


def custom_rules(facts: Facts) -> Iterator[CustomRule]:
    """Every function of the user's that has a derivative of its own, once."""
    seen: set[Any] = set()
    for step in facts.steps:
        if step.primitive not in CUSTOM_CALLS or step.bodies[0].place is None:
            continue
        identity = (step.bodies[0].place, tuple((it.shape, str(it.dtype)) for it in step.inputs))
        if identity not in seen:
            seen.add(identity)
            yield _Checker(facts, step).check()


class _Checker:
    """Runs one custom function."""

    def __init__(self, facts: Facts, step: Step):
        self._facts, self._step = facts, step
        self._plain = runnable(step.params["call_jaxpr"])
        primitive = {
            "custom_jvp_call": primitives.custom_jvp_call_p,
            "custom_vjp_call": primitives.custom_vjp_call_p,
        }[step.primitive]
        # A backward rule, and the types of what it is called with.
        self._backward: tuple[Callable[..., Any], list[Any]] | None = None
        params = watched_rule(step.params, self._remember)
        self._ruled: Callable[..., Any] = lambda *args: bind_primitive(primitive, params, args)
        first = step.params["num_consts"]
        self._differentiated = [
            index for index, value in enumerate(step.inputs) if index >= first and is_inexact(value)
        ]
        self._results = [i for i, value in enumerate(step.outputs) if is_inexact(value)]
        self._loops = any(it.kind in ("scan", "while") for it in step.bodies[0].walk())
        self._rule_name, self._rule_file, self._rule_line = source_of_rule(step.params)

    def _remember(self, rule: Callable[..., Any], args: Sequence[Any]) -> None:
        if all(map(has_type, args)):
            self._backward = rule, [type_of(it) for it in args]

    def check(self) -> CustomRule:
        size = sum(int(np.prod(it.shape, dtype=int)) for it in self._step.inputs)
        if not self._differentiated or not self._results or size > _MOST_ELEMENTS:
            return self._verdict("unknown")
        point = self._point(0)
        if point is None:
            return self._verdict("unknown")
        try:
            jax.eval_shape(self._slopes(), *point)
        except Exception:  # Not the rule's fault: there is nothing to compare it with.
            return self._verdict("unknown")
        try:
            program = jax.make_jaxpr(self._pullback(self._ruled))(*point)
        except Exception as error:
            return self._verdict("raises", message=_first_sentence(error))
        if not all(may_be_run(it) for it in (program, self._step.params["call_jaxpr"])):
            return self._verdict("unknown")
        try:
            wrong = self._compare(program)
        except Exception:
            return self._verdict("unknown")
        if wrong is None or isinstance(wrong, str):
            return self._verdict(wrong or "agrees")
        if isinstance(wrong, _OtherValue):
            place = self._place_of_value(program, wrong.result)
            return self._verdict("other value", place, argument=self._results[wrong.result])
        place = self._place_of(program, wrong)
        argument = self._differentiated[wrong.wrong[0]]
        return self._verdict("wrong", place, argument=argument, ratio=wrong.ratio)

    def _verdict(self, verdict: str, place: Place | None = None, **parts: Any) -> CustomRule:
        body = self._step.bodies[0]
        place = place or self._return_of_rule() or body.place or Place("<unknown>", 1)
        return CustomRule(self._step, body.function, verdict, place, **parts)

    # --- running

    def _pullback(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a point and cotangents: results, and cotangents of the arguments."""

        def run(args: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            of_differentiated, values = self._of_differentiated(function, args)
            outs, pull = jax.vjp(of_differentiated, *values)
            return [*outs, *pull(list(cotangents))]

        return run

    def _of_differentiated(
        self, function: Callable[..., Any], args: Sequence[Any]
    ) -> tuple[Callable[..., list[Any]], list[Any]]:
        """A function of the differentiated arguments alone, and what they are."""

        def of_differentiated(*values: Any) -> list[Any]:
            filled = list(args)
            for index, value in zip(self._differentiated, values, strict=True):
                filled[index] = value
            outs = function(*filled)
            return [outs[index] for index in self._results]

        return of_differentiated, [args[index] for index in self._differentiated]

    def _point(self, seed: int) -> tuple[list[Any], list[Any]] | None:
        rng = np.random.default_rng(seed)
        args = [self._sample(rng, seed, value) for value in self._step.inputs]
        if any(arg is None for arg in args):
            return None
        outs = [self._step.outputs[index] for index in self._results]
        # Of size one, so that the derivatives of elementwise functions keep their sizes.
        cotangents = [jnp.asarray(rng.choice([-1.0, 1.0], out.shape), out.dtype) for out in outs]
        return args, cotangents

    def _sample(self, rng: np.random.Generator, seed: int, value: Value) -> Any:
        if value.constant is not None:
            return value.constant
        if is_typed(value):
            keys = jax.random.split(jax.random.key(seed), int(np.prod(value.shape, dtype=int)) or 1)
            return keys.reshape(value.shape)
        shape, dtype = value.shape, value.dtype
        interval = self._facts.ranges[value]
        bounded = interval.low > -_NEAR and interval.high < _NEAR
        if np.issubdtype(dtype, np.bool_):
            return jnp.asarray(rng.integers(0, 2, shape), dtype)
        if np.issubdtype(dtype, np.integer):
            low, high = (interval.low, interval.high) if bounded else (0, 1)
            return jnp.asarray(rng.integers(int(low), int(high) + 1, shape), dtype)
        if not is_inexact(value):
            return None
        if bounded and interval.low < interval.high:
            drawn = rng.uniform(interval.low, interval.high, shape)
        elif seed >= _POINTS:
            drawn = rng.uniform(0.1, 0.9, shape)  # probabilities
        elif self._loops and seed % 3 == 2:
            drawn = 0.3 * rng.normal(size=shape)  # small enough for an iteration to settle
        elif seed % 2:
            drawn = rng.uniform(0.2, 1.8, shape)  # inside of the domain of logarithms and roots
        else:
            drawn = rng.normal(size=shape)
        return jnp.asarray(drawn if bounded else _inside(drawn, interval), dtype)

    def _slopes(self) -> Callable[..., Any]:
        """A function of a point and cotangents: results, and the true cotangents.

        A loop without a known end has derivatives forwards only.
        """
        if not has_loop_without_end(self._step.params["call_jaxpr"]):
            return self._pullback(self._plain)

        def run(args: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            of_differentiated, values = self._of_differentiated(self._plain, args)
            if sum(it.size for it in values) > _MOST_DIRECTIONS:
                raise NotImplementedError("too many directions")

            def along(index: int, direction: Any) -> Any:
                tangents = [jnp.zeros_like(it) for it in values]
                tangents[index] = direction
                pushed = jax.jvp(of_differentiated, values, tangents)[1]
                return sum(jnp.vdot(ct, it) for ct, it in zip(cotangents, pushed, strict=True))

            slopes = [
                jax.vmap(partial(along, at))(jnp.eye(it.size).reshape(it.size, *it.shape))
                for at, it in enumerate(values)
            ]
            shaped = [it.reshape(v.shape) for it, v in zip(slopes, values, strict=True)]
            return [*of_differentiated(*values), *shaped]

        return run

    def _compare(self, program: Any) -> _Compared | _OtherValue | str | None:
        """What is wrong; `None` if all agrees; "unknown" if there is no telling."""
        pulled, slopes = runnable(program), self._slopes()

        def both(args: Any, cotangents: Any) -> Any:
            twice = [-2 * it for it in cotangents]
            true = slopes(args, cotangents)
            off = self._off_the_slope(args, cotangents, true[count:]) if self._loops else 0.0
            return true, pulled(*args, *cotangents), pulled(*args, *twice), off

        run = jax.jit(both)
        count = len(self._results)
        samples: list[list[Sample]] = [[] for _ in self._differentiated]
        for seed in range(2 * _POINTS):
            if seed >= _POINTS and samples[0]:
                break  # It is defined there.
            point = self._point(seed)
            if point is None:
                return "unknown"
            true, ruled, twice, off = jax.device_get(run(*point))
            if not all(np.isfinite(it).all() for it in true[:count]) or not off < 0.1:
                continue
            identity = self._changes_nothing(point[0], true[:count])
            other = None if identity else self._other_value(true[:count], ruled[:count])
            if other is not None:
                return _OtherValue(other)
            for index, found in enumerate(samples):
                parts = (true[count + index], ruled[count + index], twice[count + index])
                exact, by_rule, twofold = (np.asarray(it, np.float64) for it in parts)
                found.append(Sample(exact, by_rule, twofold, identity))
        known = [judge(found, self._tolerance()) for found in samples]
        right = [index for index, verdict in enumerate(known) if verdict == "agrees"]
        wrong = [i for i, it in enumerate(known) if isinstance(it, float) or it == "wrong"]
        if wrong:
            ratio = known[wrong[0]]
            return _Compared(wrong, right, ratio if isinstance(ratio, float) else None)
        return None if len(right) == len(known) else "unknown"

    def _other_value(self, own: Sequence[Any], ruled: Sequence[Any]) -> int | None:
        """The first result that the rule computes otherwise than the function."""
        for number, results in enumerate(zip(own, ruled, strict=True)):
            plain, by_rule = (np.asarray(it, np.complex128) for it in results)
            apart = np.abs(plain - by_rule)[np.isfinite(by_rule)]
            if (apart > self._tolerance() * np.abs(plain).max(initial=0.0) + 1e-3).any():
                return number
        return None

    def _off_the_slope(self, args: Any, cotangents: Any, slopes: Sequence[Any]) -> Any:
        """How far the derivative of a loop's turns is from that of what they come to.

        A bisection, say, gets to its result by turns that have no derivative.
        """
        function, values = self._of_differentiated(self._plain, args)
        size = jnp.sqrt(sum(jnp.sum(it**2) for it in slopes))

        def off(key: Any) -> Any:
            keyed = zip(jax.random.split(key, len(values)), values, strict=True)
            ways = [jax.random.normal(own, it.shape, it.dtype) for own, it in keyed]
            ahead, behind = (
                function(*(it + step * way for it, way in zip(values, ways, strict=True)))
                for step in (_STEP, -_STEP)
            )
            triples = zip(cotangents, ahead, behind, strict=True)
            rise = sum(jnp.vdot(ct, one - other) for ct, one, other in triples) / (2 * _STEP)
            expected = sum(jnp.vdot(it, way) for it, way in zip(slopes, ways, strict=True))
            return jnp.abs(rise - expected) / jnp.maximum(size, 1e-6)

        return jnp.max(jax.lax.map(off, jax.random.split(jax.random.key(0), _POINTS)))

    def _changes_nothing(self, args: Sequence[Any], outs: Sequence[Any]) -> bool:
        values = [np.asarray(args[index]) for index in self._differentiated]
        return all(
            any(out.shape == it.shape and np.array_equal(out, it) for it in values) for out in outs
        )

    def _tolerance(self) -> float:
        # A loop in the function may stand for its limit, which the rule is the derivative of.
        return 0.15 if self._loops else 0.02

    # --- places

    @property
    def _is_users_rule(self) -> bool:
        user_code: UserCode = self._facts.traced.user_code
        return bool(self._rule_file) and user_code.owns(self._rule_file)

    def _return_of_rule(self) -> Place | None:
        if not self._is_users_rule:
            return None
        # The first line may be that of a decorator.
        start = Place(self._rule_file, self._rule_line + 1, 1, self._rule_name)
        return self._facts.sources.returned(start) or start

    def _place_of_value(self, program: Any, result: int) -> Place | None:
        """The line of the rule that makes a result; where the rule returns it, if none does."""
        name, file, line = source_of_forward_rule(self._step.params)
        user_code: UserCode = self._facts.traced.user_code
        if not file or not user_code.owns(file):
            return None
        jaxpr = closed(program)[0]
        for number in _made_of(jaxpr, jaxpr.outvars[result])[:1]:
            frames = user_code.frames(raw_frames(jaxpr.eqns[number]))
            own = [it for it in frames if it.function.endswith(name)]
            if own:
                return own[0]
        start = Place(file, line + 1, 1, name)
        return self._facts.sources.returned(start) or start

    def _rule_alone(self) -> tuple[Any, list[Any]] | None:
        """The program of a backward rule, with the lines of the rule, and its derivatives."""
        if self._backward is None:
            return None
        rule, types = self._backward
        numbers: list[int] = []

        def derivatives(*args: Any) -> list[Any]:
            outs = rule(*args)[-len(self._step.inputs) :]
            offset = len(self._step.inputs) - len(outs)
            numbers[:] = [at for at in self._differentiated if has_type(outs[at - offset])]
            return [outs[at - offset] for at in numbers]

        try:
            jaxpr, _ = closed(jax.make_jaxpr(derivatives)(*types))
        except Exception:  # A rule may insist on being called by JAX.
            return None
        return (jaxpr, list(jaxpr.outvars)) if numbers == self._differentiated else None

    def _place_of(self, program: Any, found: _Compared) -> Place | None:
        """The last line that all wrong derivatives are made by, and no right one."""
        jaxpr, results = self._rule_alone() or (closed(program)[0], None)
        made_of = [_made_of(jaxpr, var) for var in results or jaxpr.outvars[len(self._results) :]]
        behind = made_of[found.wrong[0]]
        if len(found.wrong) > 1:
            shared = set.intersection(*(set(made_of[it]) for it in found.wrong))
            shared -= {eqn for it in found.right for eqn in made_of[it]}
            behind = [it for it in behind if it in shared] or behind
        if not behind:
            return None
        frames = self._facts.traced.user_code.frames(raw_frames(jaxpr.eqns[behind[0]]))
        # Rules for one argument each are called by a function of JAX.
        if not self._is_users_rule:
            return frames[0] if frames else None
        own = [it for it in frames if it.function.endswith(self._rule_name)]
        return own[0] if own and self._rule_name else None


@dataclass(frozen=True)
class _Compared:
    """Which derivatives are wrong and which are right, by number; how wrong the first is."""

    wrong: list[int]
    right: list[int]
    ratio: float | None


@dataclass(frozen=True)
class _OtherValue:
    """Which result a rule computes otherwise than the function, among those with derivatives."""

    result: int


def _made_of(jaxpr: Any, result: Any) -> list[int]:
    """The equations that a result is made by, the last one first."""
    wanted, found = {result}, list[int]()
    for number in range(len(jaxpr.eqns) - 1, -1, -1):
        eqn = jaxpr.eqns[number]
        if not wanted.isdisjoint(eqn.outvars):
            found.append(number)
            wanted.update(it for it in eqn.invars if not isinstance(it, Literal))
    return found


def _inside(drawn: np.ndarray, interval: Interval) -> np.ndarray:
    """Numbers that a function is called with: one for what is never negative may do without them.

    Bounds are seldom reached, and a function need not have a derivative there.
    """
    if interval.low > -_NEAR:
        return interval.low + np.abs(drawn - interval.low) + 1e-3
    if interval.high < _NEAR:
        return interval.high - np.abs(drawn - interval.high) - 1e-3
    return drawn


def _first_sentence(error: Exception) -> str:
    text = " ".join(message_of(error).split())
    return text if len(text) < 300 else text[:297] + "…"
