"""Lets code that was written for kUPS run on verax.

After `import verax.compat.kups`, the modules `kups.core.assertion`, `.capacity`, `.lens`,
`.result` and `.utils.jax` exist and hold verax's names. Where a kUPS of its own is installed, the
import refuses: two packages under one name would be mixed without a sign.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from types import ModuleType

_CAPACITY = "Capacity CapacityError FixedCapacity LensCapacity LensCapacityFix MultipliedCapacity"
_LENS = (
    "BoundLens HasLensFields LambdaLens Lens LensField all_isinstance_lens all_where_lens bind "
    "lens lens_property view"
)
_TREES = (
    "HasScatterArgs PyTreeDef ScatterArgs SupportsTreeMatch dataclass field isin kahan_summation "
    "key_chain lens_field no_post_init skip_post_init_if_disabled tree_concat tree_map "
    "tree_scatter_set tree_stack tree_structure tree_where_broadcast_last tree_zeros_like"
)
_TRANSFORMS = (
    "NotJaxCompatibleError is_traced jit linearize no_jax_tracing non_differentiable "
    "sequential_vmap_with_vjp shard_map vectorize"
)

# From each module of kUPS to the rooms of verax where its names live.
_HOMES = {
    "kups.core.assertion": {
        "verax.runtime": "RuntimeAssertion check_assertions runtime_assert with_runtime_assertions"
    },
    "kups.core.capacity": {"verax.runtime.capacity": _CAPACITY},
    "kups.core.lens": {"verax.state": _LENS},
    "kups.core.result": {"verax.runtime": "Result as_result_function"},
    "kups.core.utils.jax": {"verax.state": _TREES, "verax.transforms": _TRANSFORMS},
}


def _install() -> None:
    if "kups" not in sys.modules and importlib.util.find_spec("kups") is not None:
        raise ImportError(
            "verax.compat.kups gives verax's functions the names of kUPS, but a kUPS of its own is "
            "installed here. Import from verax instead, or uninstall kups."
        )
    for name, homes in _HOMES.items():
        module = _module(name)
        module.__doc__ = f"Names of {name}, as verax has them."
        for home, names in homes.items():
            for public in names.split():
                setattr(module, public, getattr(import_module(home), public))


def _module(name: str) -> ModuleType:
    """A module by name, made with all packages above it."""
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        module.__path__ = []  # Python imports the parts of a package only.
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(_module(parent), own, module)
    return sys.modules[name]


_install()
