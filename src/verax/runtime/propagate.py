"""The retry loop: run, check, repair, run again.

Resizing a buffer changes the program, so it happens on the host, between runs of compiled
code. A step that failed is taken back and runs again from the state before it, with the same
random keys: the trajectory is the one of a run whose buffers were large enough from the start.

How a step is taken back. To keep a state until the next one is known to be good costs a copy at
every step, as much as a cheap step itself where the state is large. So the loop does not: where a
step fails, the steps before it are made once more, from the state at which the loop was last
entered. Only a step with side effects, which must not happen twice, keeps the state before it.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from verax.state import dataclass as tree_dataclass
from verax.state import field

from .assertion import with_runtime_assertions
from .packing import all_pass
from .progress import Progress
from .repair import Repair, RetryLimitError, describe, first_line
from .result import Result

V = TypeVar("V")
State = TypeVar("State")

_log = logging.getLogger("verax")


def propagate_and_fix(
    fn: Callable[[State], Result[V]], state: State, max_retries: int = 5
) -> tuple[V, State]:
    """Run `fn` on a state, repairing the state until no assertion fails.

    Args:
        fn: A function of the state made by `as_result_function`.
        state: Where to start.
        max_retries: How often to repair before giving up with a `RetryLimitError`.

    Returns:
        The value of the run that passed, and the state it ran on.

    Example:
        >>> import jax.numpy as jnp
        >>> from verax import as_result_function, propagate_and_fix, runtime_assert
        >>> @as_result_function
        ... def double(state):
        ...     fits = jnp.asarray(state["room"] >= 10)
        ...     grow = lambda state, room: {**state, "room": int(room)}
        ...     runtime_assert(fits, "too small", fix_fn=grow, fix_args=jnp.array(10))
        ...     return 2 * state["x"]
        >>> value, state = propagate_and_fix(double, {"room": 4, "x": jnp.array(1.0)})
        >>> float(value), state["room"]
        (2.0, 10)
    """
    _check_count("max_retries", max_retries)
    repairs: list[Repair] = []
    while True:
        result = fn(state)
        if not isinstance(result, Result):
            raise TypeError(
                "propagate_and_fix(fn, state) needs a function that returns a Result, and fn "
                f"returned {type(result).__name__}. Wrap it: as_result_function(fn)."
            )
        if result.all_assertions_pass:
            return result.value, state
        state = _repair(result, state, None, repairs, max_retries)


@dataclass(frozen=True)
class Propagation(Generic[State]):
    """What a simulation came to.

    Attributes:
        state: The state after the last completed step.
        steps: How many steps were completed.
        repairs: What was repaired on the way, in order.
    """

    state: State
    steps: int
    repairs: tuple[Repair, ...]


def propagate(
    step: Callable[[State], State],
    state: State,
    num_steps: int,
    *,
    max_retries: int = 10,
    progress: bool | None = None,
    every: int | None = None,
    callback: Callable[[int, State], None] | None = None,
    on_repair: Callable[[Repair], None] | None = None,
) -> Propagation[State]:
    """Run a step many times in one compiled loop, repairing the state where it fails.

    The loop stops at a step with a failed assertion, with the state from before that step. The
    fixes of all failed assertions are applied on the host, the step is compiled for the new
    state if its shapes changed, and the loop goes on from the step that failed.

    Args:
        step: A function from a state to the next state, with assertions anywhere inside.
        state: Where to start. It is not changed and stays usable.
        num_steps: How many steps to make.
        max_retries: How many repairs of one and the same step may fail.
        progress: Whether to show a progress bar; by default, if stderr is a terminal.
        every: Call `callback` after each multiple of so many steps.
        callback: `callback(steps_done, state)`, on the host.
        on_repair: `on_repair(repair)`, on the host, after each repair and before the step runs
            again.

    Returns:
        The final state, with a record of all repairs.

    Raises:
        RetryLimitError: If repairs did not help. It says what kept failing.
        Exception: What a failed assertion without a fix raises, or a callback.
        KeyboardInterrupt: If Ctrl-C was pressed.

    Whatever is raised has an attribute `propagation`: the last good state, how many steps lead
    to it, and the repairs so far. After Ctrl-C that is a state of at most half a second ago, or
    of one step if steps take longer.

    Example:
        >>> import jax.numpy as jnp
        >>> from verax import propagate, runtime_assert
        >>> def step(state):
        ...     runtime_assert(state["x"] < 5, "x is {x}", {"x": state["x"]})
        ...     return {"x": state["x"] + 1}
        >>> propagate(step, {"x": jnp.array(0)}, 3).state["x"].item()
        3
    """
    _check_count("num_steps", num_steps)
    _check_count("max_retries", max_retries)
    if (every is None) != (callback is None) or (every is not None and every < 1):
        raise ValueError("every (a positive number of steps) and callback go together")
    state = jax.tree_util.tree_map_with_path(_carried, state)
    repairs: list[Repair] = []
    done = 0
    pace = _Pace()
    run = _many_steps(step)
    try:
        with Progress(num_steps, progress) as bar:
            while done < num_steps:
                budget = min(num_steps - done, pace.chunk)
                if every is not None:
                    budget = min(budget, every - done % every)
                with pace:
                    made, after, failure = _make_steps(run, state, budget)
                state, done = after, done + made
                bar.advance(made)
                if every is not None and callback is not None and made and done % every == 0:
                    callback(done, state)
                if failure is None:
                    pace.made(made)
                    continue
                pace.start_again()
                state = _repair(failure, state, done, repairs, max_retries)
                bar.retried(len(repairs))
                if on_repair is not None:
                    on_repair(repairs[-1])
    except BaseException as error:  # Ctrl-C too
        _leave_state(error, Propagation(state, done, tuple(repairs)))
        raise
    return Propagation(state, done, tuple(repairs))


def _repair(
    result: Result[Any], state: State, step: int | None, repairs: list[Repair], limit: int
) -> State:
    """The repaired state. Adds to `repairs`; gives up when one step was repaired too often."""
    failed = result.failed_assertions
    of_this_step = [repair for repair in repairs if repair.step == step]
    if len(of_this_step) >= limit and all(a.fix_fn is not None for a in failed):
        raise RetryLimitError(
            of_this_step, [first_line(a) for a in failed], [a.site for a in failed], step
        )
    try:
        repaired = result.fix_or_raise(state)
    except Exception as error:
        if step is not None:
            error.add_note(f"while computing step {step}")
        raise
    repair = describe(step, failed, state, repaired)
    repairs.append(repair)
    _log.info("repaired %s", repair)
    return repaired


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"{name} is a whole number that is not negative, and is {value!r}")


def _leave_state(error: BaseException, propagation: Propagation[Any]) -> None:
    """Hours of simulation should not be lost with an exception."""
    error.propagation = propagation  # pyright: ignore[reportAttributeAccessIssue]
    if propagation.steps or propagation.repairs:
        error.add_note("the last good state is in this exception's attribute `propagation`")


@tree_dataclass
class _Reached(Generic[State]):
    """Where a loop ended: after `made` steps, or, unless `taken_back`, one failed step further."""

    made: jax.Array
    state: State
    taken_back: bool = field(static=True)


_Run = Callable[[State, int], tuple[_Reached[State], Result[None]]]


def _make_steps(
    run: _Run[State], state: State, budget: int
) -> tuple[int, State, Result[None] | None]:
    """How many steps passed, the state after them, and the failure of the next one, if any."""
    failure = None
    while budget:
        reached, outcome = run(state, budget)
        passed = outcome.all_assertions_pass
        # Through NumPy: to ask a JAX array for its number takes several times as long.
        made = np.asarray(reached.made).item()
        failure = failure if passed else outcome
        if passed or reached.taken_back:
            return made, reached.state, failure
        del reached  # the state after the failure, which would take memory
        # All of these pass, unless the device computes differently each time: then fewer do.
        budget = made
    return 0, state, failure


@functools.lru_cache(maxsize=64)
def _many_steps(step: Callable[[State], State]) -> _Run[State]:
    """A compiled loop over steps that ends early after a step that fails."""

    @jax.jit
    def run(state: Any, budget: Any) -> tuple[_Reached[Any], Result[None]]:
        program = _Step(step, state)

        def unfinished(carry: Any) -> Any:
            done, passed, _, _ = carry
            return passed & (done < budget)

        def advance(carry: Any) -> Any:
            done, _, leaves, _ = carry
            after, assertions = program(leaves)
            passed = all_pass(assertions)
            if program.has_effects:
                after = [jnp.where(passed, *pair) for pair in zip(after, leaves, strict=True)]
            return done + passed, passed, after, assertions

        first = (jnp.int32(0), jnp.asarray(True), program.leaves, program.nothing)
        done, _, leaves, assertions = jax.lax.while_loop(unfinished, advance, first)
        end = jax.tree.unflatten(program.treedef, leaves)
        return _Reached(done, end, program.has_effects), Result(None, assertions)

    return run


class _Step:
    """A step traced once for a state, as a function from leaves to leaves and assertions."""

    def __init__(self, step: Callable[[Any], Any], state: Any):
        self.leaves, self.treedef = jax.tree.flatten(state)

        def function(leaves: list[Any]) -> Any:
            return with_runtime_assertions(step)(jax.tree.unflatten(self.treedef, leaves))

        program, shapes = jax.make_jaxpr(function, return_shape=True)(self.leaves)
        after, assertions = shapes
        _check_same_structure(state, after)
        self._run = jaxpr_as_fun(program)
        self.has_effects = bool(program.effects)
        self._assertions = jax.tree.structure(assertions)
        # Never looked at: a loop that made no step has not failed.
        self.nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), assertions)

    def __call__(self, leaves: list[Any]) -> tuple[list[Any], Any]:
        outs = self._run(*leaves)
        count = len(self.leaves)
        return outs[:count], jax.tree.unflatten(self._assertions, outs[count:])


def _check_same_structure(before: Any, after: Any) -> None:
    """A step's result must be a state like the one it got, or it cannot be stepped again."""
    old, old_tree = jax.tree_util.tree_flatten_with_path(before)
    new, new_tree = jax.tree_util.tree_flatten_with_path(after)
    if old_tree != new_tree:
        raise TypeError(
            "step must return a state of the same structure as it was given.\n"
            f"  given:    {old_tree}\n  returned: {new_tree}"
        )
    for (path, leaf), (_, shape) in zip(old, new, strict=True):
        if (leaf.shape, leaf.dtype) != (shape.shape, shape.dtype):
            raise TypeError(
                f"step must return a state like the one it was given, but state"
                f"{jax.tree_util.keystr(path)} goes in as {jax.typeof(leaf).str_short()} and "
                f"comes out as {shape.dtype}{list(shape.shape)}"
            )


def _carried(path: Any, leaf: Any) -> Any:
    """The leaf as an array of a type that a loop can carry."""
    try:
        array = jnp.asarray(leaf)
    except (TypeError, ValueError):
        raise TypeError(
            f"state{jax.tree_util.keystr(path)} is a {type(leaf).__name__}, which a compiled loop "
            "cannot carry. Keep what is not an array in a static field of a dataclass."
        ) from None
    if not jax.typeof(array).weak_type:
        return array
    return jax.lax.convert_element_type(array, array.dtype)


class _Pace:
    """Chooses how many steps to make between two looks from the host.

    Often enough for a progress bar to move and Ctrl-C to be heard, seldom enough not to cost.
    """

    def __init__(self, seconds: float = 0.5):
        self.chunk = 1
        self._seconds = seconds
        self._started = self._spent = 0.0
        self._warm = False

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: Any) -> None:
        self._spent = time.perf_counter() - self._started

    def made(self, steps: int) -> None:
        """Learn from the chunk that was just made, unless it included compilation."""
        if self._warm and steps:
            fitting = int(steps * self._seconds / max(self._spent, 1e-6))
            self.chunk = max(1, min(fitting, 32 * self.chunk, 2**30))
        self._warm = True

    def start_again(self) -> None:
        """What follows is compiled anew."""
        self._warm = False
