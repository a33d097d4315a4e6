"""`jax.numpy`, `jax.nn`, `jax.lax`, NumPy, and the methods of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import parts
from ..attributes import named_attribute
from ..events import Call, Mutation
from ..joining import join
from ..shapes import lookup
from ..shapes.semantics.creating import contents
from ..shapes.semantics.densities import DISTRIBUTIONS
from ..shapes.shape import Shape, known
from ..shaping import array_function, array_method, described, of_update, shape_from
from ..values import Constant, Data, Sequence, Value, View, leaves
from .arguments import product_of_sizes
from .inert import TYPE_OF, as_array, is_unchanged
from .registry import handles, handles_method

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

# They tell about types, not about values.
_STATIC = frozenset(
    "shape ndim size result_type promote_types issubdtype iinfo finfo dtype isscalar "
    "iterable can_cast broadcast_shapes iscomplexobj isrealobj".split()
)
# What arrays have for attributes, too.
_OF_ARRAYS = frozenset(("shape", "ndim", "size"))
_METHODS = frozenset(
    "sum mean min max prod std var all any argmax argmin cumsum cumprod reshape transpose squeeze "
    "repeat argsort round swapaxes amin amax searchsorted split moveaxis flip".split()
)


@handles("jax.numpy.*", "jax.nn.*", "jax.lax.*", "jax.numpy.linalg.*", "jax.numpy.fft.*")
@handles("jax.scipy.special.*", "jax.scipy.stats.norm.*", "jax.scipy.linalg.*", "jax.ops.*")
@handles("jax.scipy.signal.*", "jax.image.*", "jax.scipy.*")
@handles(*(f"jax.scipy.stats.{it}.*" for it in DISTRIBUTIONS if it != "norm"))
def _jax(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    last = name.rpartition(".")[2]
    if last in _OF_ARRAYS and len(args) == 1 and isinstance(args[0], Data):
        return named_attribute(machine, site, args[0], last)
    if last in _STATIC:
        return machine.opaque(name, site, (), traced=False)
    same = as_array(site, name, args, keywords)
    if same is not None:
        return same
    result = array_function(machine, site, name, args, keywords)
    if name in TYPE_OF and args:
        result.node.dtype = TYPE_OF[name]
        result.node.shape = described(args[0]).shape
    if args and is_unchanged(name, args[0], result, [*args[1:], *keywords.values()]):
        return args[0]
    if name.startswith("jax.scipy.") and lookup(name) is None:
        result.is_array = False  # Many of them give several arrays.
    return result


@handles("jax.device_get")
def _device_get(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """An array of NumPy's for each of JAX's."""
    for value in args:
        machine.convert(site, "numpy", value)
    return machine.opaque("call", site, args, traced=False, type=name)


@handles("jax.flatten_util.ravel_pytree")
def _ravel(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """An array of all numbers of a tree, and the function that makes such a tree of an array."""
    flat = machine.array(name, site, args)
    return machine.tuple_of(flat, machine.opaque("unravel", site, (), type=name))


@handles("numpy.*", "numpy.linalg.*", "numpy.fft.*")
def _numpy(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    last = name.rpartition(".")[2]
    first = args[0] if args else None
    if last in _METHODS and isinstance(first, Data) and first.traced:
        # NumPy leaves these to the method of this name, which a tracer has.
        return array_function(machine, site, f"jax.numpy.{last}", args, keywords)
    if last in _OF_ARRAYS and len(args) == 1 and isinstance(first, Data):
        return named_attribute(machine, site, first, last)
    size = product_of_sizes(args, keywords) if name == "numpy.prod" else None
    if size is not None:
        return size
    if last not in _STATIC:
        for value in (*args, *keywords.values()):
            machine.convert(site, "numpy", value)
    result = array_function(machine, site, name, args, keywords)
    result.traced = False
    return result


_SCIPY = "fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats"


@handles("cv2.*", *(f"scipy.{it}.*" for it in _SCIPY.split()))
@handles(*(f"scipy.stats.{it}.*" for it in DISTRIBUTIONS))
@handles("scipy.sparse.linalg.*", "scipy.spatial.distance.*", "scipy.signal.windows.*")
def _on_numpy(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A function that computes with arrays of NumPy's, and makes them of what it is given."""
    given = [it for it in (*args, *keywords.values()) if isinstance(it, (Data, Sequence))]
    for value in given:
        machine.convert(site, "numpy", value)
    return machine.opaque("call", site, given, traced=False, type=name)


@handles("numpy.random.*")
def _numpy_random(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kind = name if name.endswith(("default_rng", "RandomState", "Generator")) else ""
    return machine.opaque(name, site, args, traced=False, type=kind)


# Methods of NumPy's generators, with the position of `size` among their arguments.
_GENERATOR_METHODS = {
    "normal": 2,
    "uniform": 2,
    "integers": 2,
    "randint": 2,
    "beta": 2,
    "gamma": 2,
    "laplace": 2,
    "poisson": 1,
    "exponential": 1,
    "standard_normal": 0,
    "random": 0,
    "choice": 1,
    "binomial": 2,
}
_INTEGERS = ("integers", "randint", "poisson", "binomial")


@handles_method(*_GENERATOR_METHODS, of="numpy.random.default_rng")
@handles_method(*_GENERATOR_METHODS, of="numpy.random.RandomState")
def _generated(
    machine: Interpreter, site: Site, owner: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    name: str = getattr(getattr(site.syntax, "func", None), "attr", "")
    full_name = f"{owner.type}.{name}"
    result = machine.opaque(full_name, site, (owner, *args), traced=False)
    machine.note(Call(site.syntax, site.frame, full_name, [owner, *args], keywords, result))
    result.is_array = True
    position = _GENERATOR_METHODS[name]
    size = args[position] if len(args) > position else keywords.get("size", Constant(None))
    if name == "choice":
        _of_chosen(result, args[0] if args else keywords.get("a", Constant(None)), shape_from(size))
    else:
        result.node.shape = shape_from(size)
        result.node.dtype = "integer" if name in _INTEGERS else "floating"
    return result


def _of_chosen(result: Data, among: Value, size: Shape) -> None:
    """The shape of what is chosen among numbers, or among the rows of an array."""
    shape, dtype = contents(described(among))
    rows, lead = known(shape), known(size)
    if rows is not None and lead is not None:
        result.node.shape = (*lead, *rows[1:])
        result.node.dtype = dtype if rows else "integer"


@handles_method("item", "tolist", "__float__", "__int__", "__bool__", "__index__", "tobytes")
def _to_python(
    machine: Interpreter, site: Site, owner: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    machine.convert(site, "method", owner)
    return machine.opaque("item()", site, (owner,), traced=False)


@handles_method("items", "keys", "values", "get", "copy", "update", "pop", "append", "extend")
def _of_container(
    machine: Interpreter, site: Site, owner: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A tree of unknown structure is used as a dict or list."""
    name: str = getattr(getattr(site.syntax, "func", None), "attr", "")
    if name == "update" and len(args) > 1:  # An optimiser's: a dict takes one argument.
        result = machine.opaque(".update", site, (owner, *args, *keywords.values()))
        call = Call(site.syntax, site.frame, "object.update", [owner, *args], keywords, result)
        machine.note(call)
        return result
    if name == "items":
        key = machine.opaque("key", site, (), traced=False)
        value = Data(machine.opaque("item", site, (owner,)).node, owner.traced)
        return View(owner, None, machine.tuple_of(key, value))
    if name == "keys":
        return View(owner, None, machine.opaque("key", site, (), traced=False))
    if name == "get" and args and isinstance(args[0], Constant):
        found = parts.item(machine, site, owner, args[0])
        return join(found, args[1] if len(args) > 1 else Constant(None))
    result = machine.opaque(f".{name}", site, (owner, *args))
    result.traced = owner.traced
    if name in ("append", "extend", "update"):
        machine.note(
            Mutation(site.syntax, site.frame, owner, name, name, args[0] if args else None)
        )
        if name != "update":
            return Constant(None)
        result.traced = None  # A dict's gives nothing, but an optimiser's does.
    return result


_ARRAY_METHODS = (
    "all any argmax argmin argpartition argsort astype clip conj conjugate cumprod cumsum "
    "diagonal dot flatten max mean min nonzero prod ptp ravel repeat reshape round searchsorted "
    "sort squeeze std sum swapaxes take trace transpose var view block_until_ready"
).split()


@handles_method(*_ARRAY_METHODS)
def _method(
    machine: Interpreter, site: Site, owner: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    name: str = getattr(getattr(site.syntax, "func", None), "attr", "")
    if site.frame.module.has_other_arrays and not owner.is_array and not owner.traced:
        return machine.opaque("call", site, (owner, *args, *keywords.values()))
    if name == "block_until_ready" and owner.is_array:
        machine.convert(site, "method", owner)  # There is nothing to wait for while tracing.
    result = array_method(machine, site, name, owner, args, keywords)
    if is_unchanged(f"ndarray.{name}", owner, result, [*args, *keywords.values()]):
        result = owner
    call = Call(site.syntax, site.frame, f"ndarray.{name}", [owner, *args], keywords, result)
    machine.note(call)
    return result


# `x.at[i].set(v)`: what is called is a name on the pair of array and index.
for _update in "set add subtract multiply divide power min max apply get".split():

    @handles(f"ndarray.at[].{_update}")
    def _at(
        machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
    ) -> Value:
        owner = args[0]
        operands: list[Value] = [owner, *args[1:]]
        result = machine.array(f"at.{name.rpartition('.')[2]}", site, operands, is_jax=False)
        first = next(iter(leaves(owner)), None)
        if first is not None and not name.endswith("get"):
            result.node.shape, result.node.dtype = first.node.shape, first.node.dtype
        pair = owner.items if isinstance(owner, Sequence) else None
        if first is not None and pair and pair[0] is first and len(pair) == len(args) == 2:
            of_update(machine, site, first, pair[1], args[1], result)
        return result
