"""Everything verax takes from JAX that is private or differs between releases.

The rest of verax imports public JAX and this module. Each helper says which
release makes it unnecessary; `tests/test_jax_internals.py` fails, by name, when
JAX moves one of them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend as jex
import jax.monitoring
from jax._src import ad_checkpoint as _ad_checkpoint
from jax._src import api as _api
from jax._src import core as _core
from jax._src import effects as _effects  # No public way to declare an effect (0.12).
from jax._src import hijax as _hijax
from jax._src import monitoring as _monitoring
from jax._src import pjit as _pjit
from jax._src import shard_map as _shard_map_internals
from jax._src import traceback_util as _traceback_util
from jax._src import tree_util as _tree_util  # No public way to ask what is registered (0.12).
from jax._src.core import no_axis_name as _no_axis_name
from jax._src.custom_batching import custom_vmap_p as custom_vmap_p
from jax._src.interpreters import ad as _ad
from jax._src.interpreters import batching as _batching_internals
from jax._src.lax.lax import composite_p as composite_p
from jax._src.shard_map import shard_map_p as shard_map_p
from jax.extend import source_info_util as _source_info
from jax.extend.core import Jaxpr, JaxprEqn, Primitive
from jax.extend.core import primitives as _public_primitives
from jax.interpreters import batching as _batching

Effect = _effects.Effect

# Stands for operations that are objects with rules of their own. No public name (0.12).
operation_p: Primitive = _hijax.call_hi_primitive_p

# Public in `jax.extend.core.primitives` from 0.9 on; until the floor is there, take it from
# the equation that `jax.checkpoint` leaves behind.
remat_p: Primitive = (
    _public_primitives.remat_p
    if hasattr(_public_primitives, "remat_p")
    else jax.make_jaxpr(jax.checkpoint(lambda x: x + x))(1.0).eqns[0].primitive
)


def allow_effect_everywhere(effect_type: type[Effect]) -> None:
    """Let equations with this effect be staged, differentiated and lowered.

    JAX keeps an equation with an effect through dead-code elimination, and refuses the
    effects that it does not know inside control flow and custom derivatives.
    """
    for known in (
        _effects.lowerable_effects,
        _effects.control_flow_allowed_effects,
        _effects.custom_derivatives_allowed_effects,
        _effects.remat_allowed_effects,
        _effects.partial_eval_kept_effects,
    ):
        known.add_type(effect_type)


def closed(jaxpr: Any) -> tuple[Jaxpr, Sequence[Any]]:
    """Split a closed jaxpr into program and constants.

    A few primitives hold an open `Jaxpr` where others hold a `ClosedJaxpr`; since 0.11 there
    is a single class for both.
    """
    if isinstance(jaxpr, Jaxpr) and not hasattr(jaxpr, "consts"):
        return jaxpr, ()
    return jaxpr.jaxpr, jaxpr.consts


def inner_jaxprs(eqn: JaxprEqn) -> Iterator[Any]:
    """The programs that an equation holds, closed where the equation holds them closed."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, (jex.core.Jaxpr, jex.core.ClosedJaxpr)):
                yield item
    # Since 0.11, an object for the whole operation stands where parameters did (`custom_root`).
    operation = eqn.params.get("_prim")
    if operation is not None:
        for item in vars(operation).get("params", {}).values():
            if isinstance(item, (jex.core.Jaxpr, jex.core.ClosedJaxpr)):
                yield item


@functools.lru_cache(maxsize=256)
def _expanded_operation(operation: Any) -> Any:
    def function(*args: Any) -> list[Any]:
        return jax.tree.leaves(operation.expand(*jax.tree.unflatten(operation.in_tree, args)))

    return jax.make_jaxpr(function)(*operation.in_avals_flat)


def expanded(eqn: JaxprEqn) -> tuple[Jaxpr, Sequence[Any]]:
    """The program of an operation that is an object (`operation_p`), in terms of primitives."""
    return closed(_expanded_operation(eqn.params["_prim"]))


def bind_equation(eqn: JaxprEqn, args: Sequence[Any]) -> list[Any]:
    """Run one equation on new arguments, under its own source location and name scope."""
    with equation_context(eqn):
        return bind_primitive(eqn.primitive, eqn.params, args)


def bind_primitive(primitive: Primitive, params: dict[str, Any], args: Sequence[Any]) -> list[Any]:
    """Run a primitive with the parameters that an equation recorded for it."""
    bound = primitive.get_bind_params(params)
    # Until the floor is 0.9: functions were positional arguments, not parameters.
    functions, bound = bound if isinstance(bound, tuple) else ((), bound)
    outs = primitive.bind(*functions, *args, **bound)
    return list(outs) if primitive.multiple_results else [outs]


class equation_context:
    """Make what is traced inside look as if it stood where the equation stands."""

    def __init__(self, eqn: JaxprEqn):
        info = eqn.source_info
        stack = _source_info.current_name_stack() + info.name_stack
        self._place = _source_info.user_context(info.traceback, name_stack=stack)
        self._settings = eqn.ctx.manager

    def __enter__(self) -> None:
        self._place.__enter__()
        self._settings.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._settings.__exit__(*exc)
        self._place.__exit__(*exc)


def source_line(eqn: JaxprEqn) -> str:
    """File, line and function of the user's code that made an equation."""
    return _source_info.summarize(eqn.source_info)


class ScanParts:
    """The pieces of a scan equation, in the words of `jax.lax.scan`."""

    def __init__(self, eqn: JaxprEqn, args: Sequence[Any]):
        params = eqn.params
        self.body, self.body_consts = closed(params["jaxpr"])
        self.length: int = params["length"]
        self.reverse: bool = params["reverse"]
        self.unroll: int = params["unroll"]
        if "ft_in" in params:  # Since 0.11 a tree holds what two counts held before.
            consts, carry, _ = params["ft_in"].update(list(args)).unpack()
            num_consts, num_carry = len(list(consts)), len(list(carry))
        else:
            num_consts, num_carry = params["num_consts"], params["num_carry"]
        self.consts = list(args[:num_consts])
        self.init = list(args[num_consts : num_consts + num_carry])
        self.xs = list(args[num_consts + num_carry :])
        # Until the floor is 0.9: an experimental switch of the transposition.
        self.options = (
            {"_split_transpose": params["_split_transpose"]} if "_split_transpose" in params else {}
        )


def axes_made_manual(eqn: JaxprEqn) -> tuple[str, ...]:
    """The mesh axes over which a `shard_map` equation divides its work, in mesh order."""
    # Until the floor is 0.10, which gave the parameter its present name.
    params = eqn.params
    names = params["newly_manual_axes" if "newly_manual_axes" in params else "manual_axes"]
    return tuple(name for name in params["mesh"].axis_names if name in names)


_MAP = inspect.unwrap(jax.lax.map).__code__
_BATCHED_MAP_BODIES = {
    f"{code.co_filename}:{code.co_firstlineno}"
    for code in _MAP.co_consts
    if inspect.iscode(code) and "vmap" in code.co_names
}


def is_batched_map_body(jaxpr: Jaxpr) -> bool:
    """Whether a program is the body of the scan that `jax.lax.map` makes with a batch size."""
    source = jaxpr.debug_info.func_src_info or ""
    return any(source.endswith(place) for place in _BATCHED_MAP_BODIES)


def made_by_map(eqn: JaxprEqn) -> bool:
    """Whether an equation was made inside of a call of `jax.lax.map`."""
    traceback = eqn.source_info.traceback
    return traceback is not None and _MAP in traceback.raw_frames()[0]


def manual_axes() -> tuple[str, ...]:
    """Names of the mesh axes over which the code being traced is written per device."""
    return tuple(jax.sharding.get_abstract_mesh().manual_axes)


def vary_over(x: Any, axes: Sequence[str]) -> Any:
    """Mark a value as possibly different on each device along `axes`.

    `shard_map` types say over which mesh axes a value varies, and the branches of a
    conditional or the carry of a loop must agree.
    """
    if not axes:
        return x
    kind = jax.typeof(x)
    # Until the floor is 0.10: the set was an attribute of the type itself.
    varying = kind.vma if hasattr(kind, "vma") else kind.mat.varying
    missing = tuple(axis for axis in axes if axis not in varying)
    if not missing:
        return x
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, missing, to="varying")
    return jax.lax.pvary(x, missing)  # Until the floor is 0.9.


def replicate(x: Any) -> Any:
    """A value whose type says that every device has all of it.

    Only on a mesh with explicit axes do types hold shardings, which would have to agree wherever
    two values meet.
    """
    if all(part is None for part in jax.typeof(x).sharding.spec):
        return x
    return jax.sharding.reshard(x, jax.sharding.PartitionSpec(*(None,) * x.ndim))


def jvp_of_jaxpr(jaxpr: Any, nonzero: Sequence[bool]) -> tuple[Any, list[bool]]:
    """Forward-mode derivative of a program, without materialising zero tangents."""
    return _ad.jvp_jaxpr(jaxpr, list(nonzero), instantiate=False)


Zero = _ad.Zero


def zero_tangent(primal: Any) -> Any:
    """The symbolic zero that belongs to a value."""
    return Zero(jax.typeof(primal).to_tangent_aval())


def put_rules_before(
    primitive: Primitive,
    applies: Callable[[dict[str, Any]], bool],
    batch: Callable[..., Any] | None,
    jvp: Callable[..., Any] | None,
) -> None:
    """Give equations for which `applies(params)` holds other rules than JAX's own.

    All other equations keep JAX's rules. `batch` has the signature of an entry of
    `jax.interpreters.batching.fancy_primitive_batchers`, `jvp` of `ad.primitive_jvps`.
    """
    if batch is not None:
        table = _batching.fancy_primitive_batchers
        table[primitive] = _either(applies, batch, table[primitive])
    if jvp is not None:
        _ad.primitive_jvps[primitive] = _either(applies, jvp, _ad.primitive_jvps[primitive])
        # `jax.grad` looks here first; its fallback goes through the table above.
        if primitive in _ad.primitive_linearizations:
            through_jvp = functools.partial(_ad.fallback_linearize_rule, primitive)
            linearize = _ad.primitive_linearizations[primitive]
            _ad.primitive_linearizations[primitive] = _either(applies, through_jvp, linearize)


def _either(
    applies: Callable[[dict[str, Any]], bool],
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
) -> Callable[..., Any]:
    def rule(*args: Any, **params: Any) -> Any:
        return (ours if applies(params) else theirs)(*args, **params)

    return rule


def vmap_like(function: Callable[..., Any], axis_data: Any, dims: Sequence[int | None]) -> Any:
    """`jax.vmap` of a function over the axis that a batching rule was called for."""
    name = None if axis_data.name is _no_axis_name else axis_data.name
    return jax.vmap(
        function,
        in_axes=tuple(dims),
        out_axes=0,
        axis_size=axis_data.size,
        axis_name=name,
        spmd_axis_name=axis_data.spmd_name,
    )


# What the auditor replaces while it traces: transformations that leave no equation behind, and
# loops, which leave out of their equations what the body does not change. Keyed by our names.
ENTRY_POINTS: dict[str, Callable[..., Any]] = {
    "batch": _batching_internals.batch,
    # Until the floor is 0.9: `grad` and the public `vjp` both called a private function.
    "vjp": getattr(_api, "_vjp", _api.vjp),
    "jvp": _api._jvp,
    "linearize": _api.linearize,
    "scan": jax.lax.scan,
    "while_loop": jax.lax.while_loop,
    "cond": jax.lax.cond,
    "switch": jax.lax.switch,
    # Both make functions that may be older than an audit: these are called when such a one is.
    "checkpoint": _ad_checkpoint._trace_to_jaxpr,
    "shard_map": _shard_map_internals._shard_map,
}

# Classes whose instances are functions with derivatives of their own.
CUSTOM_DERIVATIVES = (jax.custom_jvp, jax.custom_vjp)

# Since 0.9, `batch` also returns the axes that it found.
BATCH_RETURNS_AXES = "sum_match" in inspect.signature(_batching_internals.batch).parameters

_VALUE_AND_GRAD = {
    code
    for code in inspect.unwrap(jax.value_and_grad).__code__.co_consts
    if inspect.iscode(code) and code.co_name.startswith("value_and_grad_f")
}


def differentiation_settings(frame: Any) -> dict[str, Any] | None:
    """What `jax.grad` or `jax.value_and_grad` was told, if the frame is theirs.

    Both are closures that call `vjp`; neither leaves its arguments anywhere else.
    """
    while frame is not None and frame.f_code not in _VALUE_AND_GRAD:
        inside_jax = frame.f_globals.get("__name__", "").startswith("jax.")
        frame = frame.f_back if inside_jax else None
    if frame is None:
        return None
    local = frame.f_locals
    return {name: local[name] for name in ("argnums", "has_aux", "fun")}


def named_axis(name: Any, size: int) -> Any:
    """Context in which collectives may use an axis name, as inside of `vmap`."""
    return _core.extend_axis_env_nd([(name, size)])


def axis_name_of(axis_data: Any) -> Any:
    """The name that a `vmap` binds, or `None`."""
    return None if axis_data.name is _no_axis_name else axis_data.name


def call_flat(function: Any, args: Sequence[Any]) -> Any:
    """Call a plain function, or one in the form that JAX passes between transformations."""
    return getattr(function, "call_wrapped", function)(*args)


def forgotten(function: Any) -> Any:
    """The same, when what an earlier call has left in it (the tree of its results) is forgotten."""
    for store in getattr(function, "stores", ()):
        if store is not None:
            store.reset()
    return function


def origin_of(function: Any) -> tuple[str, str, int]:
    """Name, file and first line of a function that JAX is about to transform."""
    info = getattr(function, "debug_info", None)
    if info is not None:
        return _parsed(info.func_src_info)
    function = inspect.unwrap(getattr(function, "func", function))
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", "")
    return (name, code.co_filename, code.co_firstlineno) if code else (name, "", 0)


def argument_names(function: Any) -> tuple[str, ...]:
    """Names of the flat arguments of a function, as far as JAX knows them."""
    info = getattr(function, "debug_info", None)
    return tuple(getattr(info, "arg_names", None) or ())


def source_of(jaxpr: Jaxpr) -> tuple[str, str, int]:
    """Name, file and first line of the function that a jaxpr was traced from."""
    return _parsed(jaxpr.debug_info.func_src_info)


_PMAP_FILE = inspect.unwrap(jax.pmap).__code__.co_filename


def is_made_by_pmap(body: Jaxpr) -> bool:
    """Whether a `shard_map` is a `pmap`, which puts a function of its own around the user's.

    Until the floor is 0.10, `pmap` had no file of its own: the body was a method of JAX's.
    """
    name, file, _ = source_of(body)
    return file == _PMAP_FILE or name == "call_wrapped"


def is_unnamed_axis(name: Any) -> bool:
    """Whether `pmap` made up the name of its axis (until 0.9, from its address)."""
    return str(name).startswith(("_internal_pmap", "<axis 0x"))


def _parsed(source: str | None) -> tuple[str, str, int]:
    """The parts of JAX's description of a function, `name at file:line`."""
    name, _, place = (source or "").partition(" at ")
    file, _, line = place.rpartition(":")
    return name, file, int(line) if line.isdigit() else 0


def source_of_rule(params: dict[str, Any]) -> tuple[str, str, int]:
    """Name, file and first line of the derivative that a custom function was given."""
    rule = params.get("bwd", params.get("jvp_jaxpr_fun"))
    return _parsed(getattr(getattr(rule, "debug_info", None), "func_src_info", None))


def source_of_forward_rule(params: dict[str, Any]) -> tuple[str, str, int]:
    """Name, file and first line of what computes a custom function where it is differentiated."""
    rule = params.get("fwd_jaxpr_thunk", params.get("jvp_jaxpr_fun"))
    return _parsed(getattr(getattr(rule, "debug_info", None), "func_src_info", None))


def watched_rule(params: dict[str, Any], called: Callable[..., None]) -> dict[str, Any]:
    """The parameters of a custom function with a backward rule that tells what it is called with.

    `called` gets the rule, as a function, and its arguments. Until JAX traces backward rules under
    their own lines (it does not in 0.12): inside of a derivative they have that of the call.
    """
    rule = params.get("bwd")
    if not isinstance(rule, jex.linear_util.WrappedFun):
        return params

    def alone(*args: Any) -> Sequence[Any]:
        found = rule.call_wrapped(*args)
        # From 0.12 on they come with something beside them.
        return found[0] if found and isinstance(found[0], (list, tuple)) else found

    def watched(*args: Any) -> Any:
        called(alone, args)
        return rule.call_wrapped(*args)

    wrapped = jex.linear_util.wrap_init(watched, debug_info=rule.debug_info)
    return {**params, "bwd": wrapped}


@contextlib.contextmanager
def whole_tracebacks() -> Iterator[None]:
    """Leave JAX's own frames in the traceback of an error: they say which function raised it."""
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    try:
        yield
    finally:
        jax.config.update("jax_traceback_filtering", before)


def registered_pytrees() -> dict[type, Any]:
    """Every class that is registered as a pytree, with the function that puts one together."""
    return {cls: entry.from_iter for cls, entry in list(_tree_util._registry.items())}


def raw_frames(eqn: JaxprEqn) -> list[tuple[Any, int]]:
    """Code objects and instruction offsets of the stack that made an equation, innermost first."""
    traceback = eqn.source_info.traceback
    return [] if traceback is None else list(zip(*traceback.raw_frames(), strict=True))


class JitCall(NamedTuple):
    """A call of a jitted function that JAX handles in Python: it is traced, lowered, or new to it.

    A call of a kind that was there before never gets here: JAX dispatches it by itself.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]


@contextlib.contextmanager
def jit_calls_watched(
    called: Callable[[JitCall], None], done: Callable[[], None], *, each: bool = False
) -> Iterator[None]:
    """Report the calls of jitted functions, of those too that were jitted before.

    `called` is called before JAX does anything, with arguments whose buffers are still there, and
    `done` when the call has been dispatched, unless it was only lowered. With `each`, no call is
    dispatched without being reported, which costs some 20 µs a call.

    No public hook (0.12): a jitted function is an object of C++, which calls these two by the
    module's names when it does not know what to do with its arguments.
    """
    infer, fast_path = _pjit._infer_params, _pjit._get_fastpath_data

    def watched_infer(function: Any, info: Any, args: Any, kwargs: Any) -> Any:
        statics = info.static_argnums, info.static_argnames
        donated = info.donate_argnums, info.donate_argnames
        called(JitCall(function, tuple(args), dict(kwargs), *statics, *donated))
        return infer(function, info, args, kwargs)

    def watched_fast_path(*args: Any, **kwargs: Any) -> Any:
        done()
        return None if each else fast_path(*args, **kwargs)

    _pjit._infer_params, _pjit._get_fastpath_data = watched_infer, watched_fast_path
    try:
        yield
    finally:
        _pjit._infer_params, _pjit._get_fastpath_data = infer, fast_path


# Public from 0.9 on.
_unregister: Callable[[Any], None] = getattr(
    jax.monitoring, "unregister_event_duration_listener", None
) or getattr(_monitoring, "_unregister_event_duration_listener_by_callback")  # noqa: B009


@contextlib.contextmanager
def compile_times_reported(report: Callable[[float], None]) -> Iterator[None]:
    """Report the seconds of each part of a compilation: tracing, lowering, compiling."""

    def listener(event: str, seconds: float, **_: Any) -> None:
        if event.startswith("/jax/core/compile/"):
            report(seconds)

    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        yield
    finally:
        _unregister(listener)


@functools.cache
def leave_out_of_tracebacks(file: str) -> None:
    """Show no frames of a file in the errors of a program, as JAX shows none of its own."""
    _traceback_util.register_exclusion(file)


def is_tracing() -> bool:
    """Whether what runs now is being traced or transformed, and not simply executed."""
    return not _core.trace_state_clean()


# Files of JAX's that stand between a user's call and the transformation that it means, and mean
# nothing themselves: the wrapper that shortens tracebacks, and what C++ calls.
PASSED_THROUGH = frozenset(
    inspect.unwrap(it).__code__.co_filename
    for it in (_traceback_util.api_boundary, _pjit._infer_params)
)
