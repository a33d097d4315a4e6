"""What is run of a file without anybody who calls it.

Functions and methods get arguments of which nothing is known, transformed functions the same under
their transformation, and where a module says how it is called, that is done.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable

from .axes import named_arguments
from .binding import default_of, generic_arguments, positional_names
from .calls import run_frame
from .classes import innermost_function, leave_open, opaque_instance
from .events import Applied, KeyUse, Made
from .frame import Frame, Region, Site
from .graph import Node
from .library.environments import compiled_methods
from .library.options import static_names
from .library.transforms import apply
from .library.trees import taken_apart, tree_functions
from .machine import Interpreter
from .project import Module
from .unknown import leave_unrun
from .values import (
    Bound,
    Class,
    Constant,
    Data,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
    mapped,
)


def run_returned(machine: Interpreter, module: Module) -> None:
    """Run the inner functions that nobody has called: a factory gives them to somebody elsewhere.

    The last one first, since it uses those before it.
    """
    for function in reversed(machine.record.defined):
        record = machine.record
        is_called = function.syntax in record.runs or function.syntax in record.unknown
        if function.frame.module is module and not is_called:
            run_generic(machine, function)


def _as_child(leaf: Data) -> Data:
    """What an object is put together from: a tracer, if it is an array or a field as it was.

    What is computed for it may hold trees, which are put together before.
    """
    is_tracer = leaf.is_array or leaf.node.operation == "field"
    return Data(leaf.node, True if is_tracer else None, leaf.is_array)


def run_unflatten(machine: Interpreter, module: Module) -> None:
    """Put objects of registered classes together from tracers, as every transformation does."""
    for cls in machine.record.classes:
        _, unflatten = tree_functions(cls)
        if cls.frame.module is not module or unflatten is None:
            continue
        machine.start_root()
        site = Site(cls.frame, cls.syntax)
        node = Node("object", (), cls.syntax, cls.frame, label=cls.name)
        apart = taken_apart(machine, site, cls, opaque_instance(cls, node, None))
        if apart is not None:
            children, auxiliary = apart
            inside = site.inside(Region("jit", None, cls.registration.place))
            machine.call(inside, unflatten, [auxiliary, mapped(children, _as_child)], {})


def run_compiled_methods(machine: Interpreter, module: Module) -> None:
    """Call the methods that a library compiles, of classes that are written for it."""
    for cls in machine.record.classes:
        for function in compiled_methods(cls) if cls.frame.module is module else ():
            options: dict[str, Value] = {"static_argnums": Constant(0)}
            compiled = Transformed("jit", function, options, function.syntax, function.frame)
            machine.start_root()
            _call_generic(machine, compiled, function, [])


def run_example(machine: Interpreter, frame: Frame) -> None:
    """Where a module says how it is called, call it so: `entry` on what `inputs()` gives."""
    entry, inputs = frame.environment.get("entry"), frame.environment.get("inputs")
    if entry is None or not isinstance(inputs, Function):
        return
    machine.start_example()
    site = Site(frame, inputs.syntax)
    given = machine.call(site, inputs, [], {})
    if inputs.syntax in machine.record.unknown:
        leave_unrun(machine, entry)
    if isinstance(given, Sequence) and given.items is not None:
        machine.start_example()
        machine.call(site, entry, list(given.items), {})
        _run_named(machine, frame, site, entry, given.items)


def _run_named(
    machine: Interpreter, frame: Frame, site: Site, entry: Value, given: list[Value]
) -> None:
    """Call it once more with names for sizes, where `AXES` says what the axes mean."""
    axes, function = frame.environment.get("AXES"), innermost_function(entry)
    if not isinstance(axes, Mapping) or function is None:
        return
    args = named_arguments(positional_names(function), given, axes)
    if args is not None:
        machine.start_example()
        machine.call(site, entry, args, {})


def run_definition(machine: Interpreter, value: Value, module: Module) -> None:
    """Run what a module binds to a name, if that is its own function or class."""
    function = innermost_function(value)
    if isinstance(value, Class):
        if value.frame.module is module:
            _run_class(machine, value)
    elif function is not None and function.frame.module is module and not _is_jitted(value):
        run_generic(machine, function)


def _is_jitted(value: Value) -> bool:
    """Whether a function never runs but under its transformation, where it is called later."""
    return isinstance(value, Transformed) and value.kind in ("jit", "pmap")


def _run_class(machine: Interpreter, cls: Class) -> None:
    node = Node("object", (), cls.syntax, cls.frame, label="self")
    owner = opaque_instance(cls, node, None)
    init = innermost_function(cls.attributes.get("__init__"))
    if init is not None:
        run_generic(machine, init, owner)
    if isinstance(owner, Instance):
        leave_open(owner)
        machine.record.objects[cls] = owner
    for name, value in list(cls.attributes.items()):
        function = innermost_function(value)
        if function is None or function.cls is not cls or name == "__init__" or _is_jitted(value):
            continue
        is_static = isinstance(value, Partial) and getattr(value.function, "name", "") in (
            "builtins.staticmethod",
            "builtins.classmethod",
        )
        is_method = names_object(function) and not is_static
        run_generic(machine, function, owner if is_method else None)


def run_generic(
    machine: Interpreter,
    function: Function,
    owner: Value | None = None,
    learn: Callable[[dict[str, Value]], None] | None = None,
) -> None:
    """Run a function with arguments of which nothing is known, outside of any transformation.

    Unless `learn` knows something of them.
    """
    caller = Frame(function.frame.module, "")
    inner = Frame(
        function.frame.module, function.name, function.syntax, function.frame, None, caller
    )
    if learn is None:
        machine.start_root(on_host=True, root=inner)
    else:
        machine.start_observed(inner)
    machine.used = _used_around(function.frame)
    inner.environment = generic_arguments(machine, function, inner, None)
    if learn is not None:
        learn(inner.environment)
    if owner is not None and inner.environment:
        inner.environment[next(iter(inner.environment))] = owner
    rest = function.syntax.args.vararg
    if rest is not None:
        some = machine.opaque("argument", Site(inner, rest), ())
        inner.environment[rest.arg] = Sequence("tuple", None, some)
    run_frame(machine, function, inner)


def _used_around(frame: Frame) -> dict[Node, KeyUse]:
    """The keys that a factory has used by the time it returns a function, whatever way it takes."""
    first, *others = frame.used_at_returns or [{}]
    return {key: use for key, use in first.items() if all(key in it for it in others)}


def run_transformed(machine: Interpreter, module: Module) -> None:
    """Call every transformed function with unknown arguments: as somebody elsewhere will."""
    done: set[tuple[ast.AST, ast.AST]] = set()
    calls: dict[ast.AST, list[Applied]] = defaultdict(list)
    for applied in machine.record.of(Applied):
        calls[applied.transformed.syntax].append(applied)
    all_made = list(machine.record.of(Made))
    wrapped = _wrapped(made.transformed for made in all_made)
    for made in all_made:
        transformed = made.transformed
        function = innermost_function(transformed.function)
        if function is None or module not in (made.frame.module, function.frame.module):
            continue
        if transformed in wrapped:
            continue  # It runs inside of the one around it, which may bind an axis for it.
        # One place can make several: `compiled(f)` of the project's own.
        what = (made.syntax, function.syntax)
        if what in done:
            continue
        done.add(what)
        machine.start_root()
        try:
            _call_generic(machine, transformed, function, calls.get(transformed.syntax, []))
        except RecursionError:
            machine.leave_off(made.place)


def _wrapped(all_made: Iterable[Transformed]) -> set[Transformed]:
    """What a transformation is applied to, if that is transformed itself: `jit(grad(f))`."""
    found: set[Transformed] = set()
    for made in all_made:
        value = made.function
        while isinstance(value, (Bound, Partial, Transformed)) and value not in found:
            if isinstance(value, Transformed):
                found.add(value)
            value = value.function
    return found


def _call_generic(
    machine: Interpreter, transformed: Transformed, function: Function, calls: list[Applied]
) -> None:
    """Call a transformed function with what it needs.

    What has a default keeps it, unless the program gives something else there.
    """
    made_in = transformed.frame
    frame = Frame(made_in.module, made_in.name, None, made_in.outer, made_in.region)
    frame.environment = made_in.environment
    given = generic_arguments(machine, function, frame, None)
    keyword_only = {it.arg for it in function.syntax.args.kwonlyargs}
    names = [name for name in given if name not in keyword_only]
    taken = set[str]()
    if transformed.kind in _MAPS:
        _without_shapes(given)
    value = transformed.function
    while isinstance(value, (Bound, Partial, Transformed)):
        if isinstance(value, Transformed) and value.kind in _MAPS:
            _without_shapes(given)
        if isinstance(value, Partial):
            names = names[len(value.args) :]
            taken |= value.keywords.keys() | (keyword_only if value.is_open else set())
        elif isinstance(value, Bound):
            names = names[1:]
        value = value.function
    if isinstance(value, (Instance, Sequence)):
        names = names[1:]  # A callable object is what its own method is called on.
    told = _given_elsewhere(transformed, calls, names)
    given.update({it: value for it, value in told.items() if value is not None and it in given})
    needed = [it for it in given if it in told or default_of(function, it) is None]
    last = max((names.index(it) for it in needed if it in names), default=-1)
    names = names[: last + 1]
    args = [given[name] for name in names if name not in taken]
    cls = function.cls if _is_method(function) else None
    if cls is not None and names and names[0] == next(iter(given)):
        is_static = not {0, names[0]}.isdisjoint(static_names(transformed))
        args[0] = _object_of(machine, cls, function, names[0], is_static)
    by_name = {name: given[name] for name in needed if name in keyword_only - taken}
    is_open = function.syntax.args.vararg is not None
    apply(machine, Site(frame, transformed.syntax, is_open), transformed, args, by_name)


def _object_of(
    machine: Interpreter, cls: Class, function: Function, name: str, is_static: bool
) -> Value:
    """The object of a method: where it is static, one as its constructor has left it."""
    known = machine.record.objects.get(cls) if is_static else None
    if known is None:
        return opaque_instance(
            cls, Node("object", (), cls.syntax, function.frame, label=name), None
        )
    copy = Instance(cls, known.node)
    copy.attributes = dict(known.attributes)
    return copy


_MAPS = frozenset(("vmap", "pmap", "shard_map"))


def _without_shapes(given: dict[str, Value]) -> None:
    """Forget what annotations say of arguments: it holds inside of a map, not around it."""
    for value in given.values():
        if isinstance(value, Data):
            value.node.shape = None


def _given_elsewhere(
    transformed: Transformed, calls: list[Applied], names: list[str]
) -> dict[str, Constant | None]:
    """The parameters that calls in the program, or else `in_axes`, tell to be given.

    Where all give the same constant, that is what is given; otherwise it is not known.
    """
    told: dict[str, Constant | None] = {}
    for applied in calls:
        placed = applied.args[: _placed(applied)]
        given = dict.fromkeys(names[: len(applied.args)])
        for name, value in {
            **given,
            **dict(zip(names, placed, strict=False)),
            **applied.keywords,
        }.items():
            constant = value if isinstance(value, Constant) else None
            before = told.setdefault(name, constant)
            if before is None or constant is None or before.value != constant.value:
                told[name] = None
    axes = transformed.options.get("in_axes")
    if not calls and isinstance(axes, Sequence) and axes.items is not None:
        told.update(dict.fromkeys(names[: len(axes.items)]))
    return told


def _placed(applied: Applied) -> int:
    """How many arguments are given at places that are known: those before `*args`."""
    given = applied.syntax.args if isinstance(applied.syntax, ast.Call) else []
    stars = [index for index, it in enumerate(given) if isinstance(it, ast.Starred)]
    return stars[0] if stars else len(applied.args)


def names_object(function: Function) -> bool:
    """Whether the first parameter is called as an object is: others are called as `C.f(x)`."""
    names = positional_names(function)
    return bool(names) and names[0].strip("_") in ("self", "cls", "this", "module", "")


def _is_method(function: Function) -> bool:
    """Whether a function in a class takes an object: a lambda need not, in `C.f(x)`."""
    cls = function.cls
    if cls is None or isinstance(function.syntax, ast.Lambda) or not names_object(function):
        return False
    return not any(
        isinstance(it, Partial)
        and getattr(it.function, "name", "") == "builtins.staticmethod"
        and innermost_function(it) is function
        for it in cls.attributes.values()
    )
