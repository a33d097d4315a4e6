"""A safety net for JAX programs.

Names resolve on first use: `import verax` imports neither JAX nor anything else that is slow, so
that the parts which do not need JAX start without it.

A public name is listed twice: in `_EXPORTS`, for Python, and below `TYPE_CHECKING`, for tools that
read the source. `tests/test_exports.py` keeps the two in agreement.
"""

from importlib import import_module

# Not from `typing`, which is not loaded yet: `python -m verax` would find one beside a program.
TYPE_CHECKING = False

__version__ = "0.1.0"

_SUBMODULES = ("audit", "channel", "runtime", "state", "transforms")

_EXPORTS = {
    "verax.audit.declare": ("axes",),
    "verax.audit.frontends.run.observe": ("observe",),
    "verax.runtime": (
        "Propagation",
        "Repair",
        "Result",
        "RetryLimitError",
        "RuntimeAssertion",
        "as_result_function",
        "check_assertions",
        "propagate",
        "propagate_and_fix",
        "runtime_assert",
        "with_runtime_assertions",
    ),
    "verax.runtime.capacity": ("Capacity", "CapacityError", "FixedCapacity", "LensCapacity"),
    "verax.state": ("BoundLens", "Lens", "bind", "dataclass", "field", "lens", "view"),
}

if TYPE_CHECKING:
    from verax import channel as channel
    from verax import runtime as runtime
    from verax import state as state
    from verax import transforms as transforms
    from verax.audit._module import audit as audit
    from verax.audit.declare import axes as axes
    from verax.audit.frontends.run.observe import observe as observe
    from verax.runtime import Propagation as Propagation
    from verax.runtime import Repair as Repair
    from verax.runtime import Result as Result
    from verax.runtime import RetryLimitError as RetryLimitError
    from verax.runtime import RuntimeAssertion as RuntimeAssertion
    from verax.runtime import as_result_function as as_result_function
    from verax.runtime import check_assertions as check_assertions
    from verax.runtime import propagate as propagate
    from verax.runtime import propagate_and_fix as propagate_and_fix
    from verax.runtime import runtime_assert as runtime_assert
    from verax.runtime import with_runtime_assertions as with_runtime_assertions
    from verax.runtime.capacity import Capacity as Capacity
    from verax.runtime.capacity import CapacityError as CapacityError
    from verax.runtime.capacity import FixedCapacity as FixedCapacity
    from verax.runtime.capacity import LensCapacity as LensCapacity
    from verax.state import BoundLens as BoundLens
    from verax.state import Lens as Lens
    from verax.state import bind as bind
    from verax.state import dataclass as dataclass
    from verax.state import field as field
    from verax.state import lens as lens
    from verax.state import view as view
else:
    # Hidden from type checkers, which would take `__getattr__` to mean that any name exists.
    _HOMES = {name: home for home, names in _EXPORTS.items() for name in names}

    __all__ = sorted((*_SUBMODULES, *_HOMES))

    def __getattr__(name: str) -> object:
        if name in _SUBMODULES:
            return import_module(f"verax.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'verax' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value  # the next access does not come here
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
