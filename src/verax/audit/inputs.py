"""Arguments for a function, from what was written of them.

This runs in the process that imported the function, and imports JAX.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import jax

from .annotations import UnknownSizeError, fields_of, hints_of, spec_of
from .close import close_names
from .errors import UsageError, described
from .specs import ArraySpec, InputSpec, Path, ValueSpec


@dataclass
class Inputs:
    """Arguments, and what is known of their axes and values."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    axes: dict[str, Any] = field(default_factory=dict[str, Any])
    ranges: dict[str, Any] = field(default_factory=dict[str, Any])


def inputs_from_example(example: object, name: str) -> Inputs:
    """Arguments that the user's module gives: a tuple of them, or a mapping of keywords."""
    if isinstance(example, Mapping):
        given = cast(Mapping[object, Any], example)
        wrong = [key for key in given if not isinstance(key, str)]
        if wrong:
            raise UsageError(f"--inputs {name}: {wrong[0]!r} is not the name of a parameter")
        return Inputs(kwargs={str(key): value for key, value in given.items()})
    if isinstance(example, (tuple, list)):
        return Inputs(args=tuple(cast(Sequence[Any], example)))
    raise UsageError(
        f"--inputs {name}: is {_kind(example)}; give a tuple of arguments, or a dict of keyword "
        "arguments"
    )


def axes_from_example(example: object, name: str) -> Mapping[str, Any]:
    """Axis names that the user's module gives."""
    if not isinstance(example, Mapping):
        raise UsageError(
            f"--axes {name}: is {_kind(example)}; give a dict from parameter to axis names, as in "
            "{'x': 'batch time'}"
        )
    return cast(Mapping[str, Any], example)


def check_parameters(function: Callable[..., object], axes: Mapping[str, Any], name: str) -> None:
    """Complain of names that are meant for parameters, and are none.

    A dict may serve several functions, so that a name which only another one has is fine.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    if any(it.kind is it.VAR_KEYWORD for it in parameters.values()):
        return
    known = [it for it in parameters if it not in axes]
    is_other = len(known) == len(parameters)
    for key in axes:
        if key in parameters or not (is_other or close_names(str(key), known)):
            continue
        close = close_names(str(key), known, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(parameters)}"
        raise UsageError(f"--axes {name}: there is no parameter {key!r}; {hint}")


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def inputs_from_specs(
    function: Callable[..., object],
    specs: Iterable[InputSpec],
    dims: Mapping[str, int],
) -> Inputs:
    """Arguments from `--in`, and from annotations for parameters without one."""
    given: dict[str, dict[Path, InputSpec]] = {}
    for spec in specs:
        given.setdefault(spec.parameter, {})[spec.path] = spec
    parameters = _parameters(function)
    hints = hints_of(function)
    inputs = Inputs()
    args: list[Any] = []
    by_keyword = False
    for parameter in parameters:
        own = given.pop(parameter.name, None)
        if own is None and parameter.default is not parameter.empty:
            by_keyword = True  # what follows cannot go by position
            continue
        if parameter.kind is parameter.VAR_POSITIONAL and own is None:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            for name in list(given):
                inputs.kwargs[name] = _argument(inputs, name, given.pop(name), None, dims)
            continue
        hint = hints.get(parameter.name)
        if own is not None:
            value = _argument(inputs, parameter.name, own, hint, dims)
        else:
            value = _from_annotation(inputs, parameter, hint, dims)
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += list(value) if isinstance(value, list) else [value]
        elif parameter.kind is parameter.KEYWORD_ONLY or by_keyword:
            inputs.kwargs[parameter.name] = value
        else:
            args.append(value)
    if given:
        raise _no_parameter(next(iter(given)), [it.name for it in parameters], given)
    inputs.args = tuple(args)
    return inputs


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise UsageError(
            f"the parameters of {function!r} are not known; give all arguments with --inputs"
        ) from None


def _no_parameter(
    name: str, known: list[str], given: Mapping[str, Mapping[Path, InputSpec]]
) -> UsageError:
    text = next(iter(given[name].values())).text
    close = close_names(name, known, 1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known) or 'none'}"
    return UsageError(f"--in {text!r}: there is no parameter {name!r}; {hint}")


def _argument(
    inputs: Inputs,
    name: str,
    given: Mapping[Path, InputSpec],
    hint: object,
    dims: Mapping[str, int],
) -> Any:
    # Where `--in` says something of a record's fields only, the others have their annotations.
    fields = fields_of(hint)
    if fields is not None and () not in given:
        tree: Any = {
            field_name: _Leaf(spec)
            for field_name, field_hint in fields.items()
            if (field_name,) not in {path[:1] for path in given}
            and (spec := _spec_or_none(field_hint, dims)) is not None
        }
    else:
        tree = None
    for path, spec in given.items():
        tree = _insert(tree, path, spec, 0)
    return _finish(inputs, name, tree, hint)


def _spec_or_none(hint: object, dims: Mapping[str, int]) -> ArraySpec | None:
    try:
        return spec_of(hint, dims)
    except UnknownSizeError:
        return None


def _from_annotation(
    inputs: Inputs, parameter: inspect.Parameter, hint: object, dims: Mapping[str, int]
) -> Any:
    name = parameter.name
    tree = _annotated(hint, dims, name)
    if tree is None:
        raise UsageError(
            f"parameter {name!r} is not known; give it with --in '{name}=f32[batch=8]', or all "
            "arguments with --inputs"
        )
    return _finish(inputs, name, tree, hint)


def _annotated(hint: object, dims: Mapping[str, int], name: str) -> Any:
    """The tree of leaves that an annotation describes, or `None`."""
    try:
        spec = spec_of(hint, dims)
    except UnknownSizeError as error:
        named = [it for it in error.names if it.isidentifier() and not it.startswith("_")]
        sizes = " ".join(f"--dim {it}=8" for it in named) if len(named) == len(error.names) else ""
        ways = f"--in '{name}={error.form}'" + (f" or {sizes}" if sizes else "")
        unknown = ", ".join(error.names)
        raise UsageError(
            f"parameter {name!r}: the size of {unknown} is not known; give it with {ways}"
        ) from None
    if spec is not None:
        return _Leaf(spec)
    fields = fields_of(hint)
    if not fields:
        return None
    tree = {field: _annotated(it, dims, f"{name}.{field}") for field, it in fields.items()}
    missing = [field for field, it in tree.items() if it is None]
    if missing:
        raise UsageError(
            f"parameter {name!r}: its field {missing[0]!r} is not known; give it with "
            f"--in '{name}.{missing[0]}=f32[batch=8]', or all arguments with --inputs"
        )
    return tree


@dataclass(frozen=True)
class _Leaf:
    spec: ArraySpec | ValueSpec


def _insert(tree: Any, path: Path, spec: InputSpec, depth: int) -> Any:
    """The tree with one more leaf; a list by numbers, a dict by names."""
    if isinstance(tree, _Leaf) or (tree is not None and depth == len(path)):
        raise UsageError(
            f"--in {spec.text!r}: {_written(spec, depth)} is given both as a whole and in parts"
        )
    if depth == len(path):
        return _Leaf(spec.spec)
    key = path[depth]
    container: dict[str | int, Any] = tree or {}
    if any(isinstance(other, int) != isinstance(key, int) for other in container):
        raise UsageError(
            f"--in {spec.text!r}: {_written(spec, depth)} has numbered and named parts at once"
        )
    return container | {key: _insert(container.get(key), path, spec, depth + 1)}


def _written(spec: InputSpec, depth: int) -> str:
    return spec.parameter + "".join(f"[{key!r}]" for key in spec.path[:depth])


def _finish(inputs: Inputs, name: str, tree: Any, hint: object) -> Any:
    """The argument itself; what is known of its axes and values goes to `inputs`."""
    specs = _containers(tree, name, hint)
    leaves, structure = jax.tree.flatten(specs, is_leaf=lambda it: isinstance(it, _Leaf))
    values = [_value(leaf, name) for leaf in leaves]
    inputs.axes[name] = jax.tree.unflatten(structure, [_axes(leaf) for leaf in leaves])
    ranges = [_range(leaf) for leaf in leaves]
    if any(bounds is not None for bounds in ranges):
        inputs.ranges[name] = jax.tree.unflatten(structure, ranges)
    return jax.tree.unflatten(structure, values)


def _containers(tree: Any, name: str, hint: object) -> Any:
    if not isinstance(tree, dict):
        return tree
    parts = cast(dict[str | int, Any], tree)
    if all(isinstance(key, int) for key in parts):
        missing = set(range(len(parts))) - set(parts)
        if missing:
            raise UsageError(f"parameter {name!r}: {name}[{min(missing)}] is missing")
        return [_containers(parts[at], f"{name}[{at}]", None) for at in range(len(parts))]
    fields = fields_of(hint)
    built = {
        str(key): _containers(part, f"{name}.{key}", (fields or {}).get(str(key)))
        for key, part in parts.items()
    }
    if fields is None:
        return built
    try:
        return cast(Callable[..., Any], hint)(**built)
    except Exception as error:
        kind = getattr(hint, "__name__", hint)
        raise UsageError(
            f"parameter {name!r}: {kind} could not be made: {described(error)}"
        ) from None


def _value(leaf: Any, name: str) -> Any:
    spec = leaf.spec if isinstance(leaf, _Leaf) else ValueSpec(leaf)
    if isinstance(spec, ValueSpec):
        return spec.value
    if spec.dtype in {"key", "prng"}:
        make = jax.random.key if spec.dtype == "key" else jax.random.PRNGKey
        one = jax.eval_shape(make, 0)
        return jax.ShapeDtypeStruct((*spec.shape, *one.shape), one.dtype)
    if jax.dtypes.canonicalize_dtype(spec.dtype) != spec.dtype:
        raise UsageError(
            f"parameter {name!r}: JAX has no {spec.dtype} unless JAX_ENABLE_X64=1 is set"
        )
    return jax.ShapeDtypeStruct(spec.shape, spec.dtype)


def _axes(leaf: Any) -> str:
    spec = leaf.spec if isinstance(leaf, _Leaf) else None
    if not isinstance(spec, ArraySpec) or not any(spec.axes):
        return ""
    # An axis without a name keeps its position.
    return " ".join(axis or "_" for axis in spec.axes)


def _range(leaf: Any) -> tuple[float | int | None, float | int | None] | None:
    spec = leaf.spec if isinstance(leaf, _Leaf) else None
    if not isinstance(spec, ArraySpec) or (spec.low is None and spec.high is None):
        return None
    return spec.low, spec.high
