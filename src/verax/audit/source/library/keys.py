"""Functions outside of the project that consume a random key, as far as their names tell.

`model.init(key, x)`, `env.step(key, state, action)`, `dist.sample(seed=key)`, a layer's `key=key`.
Nobody says what such a function does with its key, so that these uses are not certain: whether a
value is a key at all may be known only later.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..classes import innermost_function
from ..parameters import FunctionSyntax
from ..remember import each
from ..values import Data, Value, leaves

if TYPE_CHECKING:
    from ..frame import Site
    from ..graph import Node
    from ..machine import Interpreter

# Methods that take a key first.
_FIRST = frozenset(
    "init init_with_output reset reset_env step step_env sample sample_and_log_prob rsample".split()
)
# Methods whose keys have a name of their own.
_NAMED = _FIRST | frozenset(("apply", "rollout"))
# What takes a key by name if it is called as it is.
_MODELS = frozenset("apply_fn model network net policy actor critic encoder decoder".split())
_NAMES = ("key", "rng_key", "prng_key", "seed", "rng", "rngs")
_LAYERS = ("equinox.nn.",)
# Libraries of samplers, distributions and environments: whatever takes a key there draws from it.
_SAMPLERS = (
    "numpyro.",
    "blackjax.",
    "distrax.",
    "tensorflow_probability.",
    "gymnax.",
    "brax.",
    "jumanji.",
    "evosax.",
    "mctx.",
    "flashbax.",
)
# Words in the names of functions that draw something if they are given a key.
_DRAWING = frozenset(
    "sample samples sampler sampling resample draw noise dropout augment augmentation shuffle "
    "permute rollout unroll simulate generate explore propose proposal mutate mutation crossover "
    "perturb corrupt kernel predictive act action actions policy ask run init reset step walk "
    "collect minibatches batches prngsequence".split()
)
# Initializers that leave their key alone.
_FIXED = ("zeros", "ones", "constant")


def consumed_outside(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> None:
    """Note the keys that a call of something unknown consumes."""
    method = name.rpartition(".")[2]
    if name == "equinox.nn.Lambda":
        return  # It takes a key and leaves it alone.
    given: list[Value] = []
    if method in _NAMED or name.startswith(_LAYERS):
        given += [keywords[it] for it in _NAMES if it in keywords]
    elif not name or method in _MODELS:
        given += [keywords[it] for it in ("key", "rng_key", "rngs") if it in keywords]
    if args and (method in _FIRST or (not name and _is_key(args[0]))):
        given.append(args[0])
    drawing = _drawing(site, name)
    if drawing and _leave_keys_alone(machine, drawing):
        drawing = ""
    if name.startswith(_SAMPLERS) or drawing:
        taken = (*args, *keywords.values())
        given += [it for it in taken if isinstance(it, Data) and it.node.is_key]
        given += [keywords[it] for it in _NAMES if it in keywords]
    if method == "apply" and len(args) > 1:  # haiku's takes a key after the parameters
        given.append(args[1])
    if name.endswith("nnx.Rngs"):
        given += [*args, *keywords.values()]
    seen: set[Node] = set()
    for value in given:
        for leaf in leaves(value):
            if leaf.node not in seen and may_be_key(leaf):
                seen.add(leaf.node)
                machine.use_key(site, leaf, name or drawing, is_certain=False)


def _is_key(value: Value) -> bool:
    return isinstance(value, Data) and value.node.is_key


def _drawing(site: Site, name: str) -> str:
    """The name of a function that draws, or initializes the weights of a layer, by this name."""
    if ".initializers." in name:
        return "" if name.endswith(_FIXED) else name
    called = site.syntax.func if isinstance(site.syntax, ast.Call) else None
    if isinstance(called, ast.Attribute):
        written = called.attr
    else:
        written = called.id if isinstance(called, ast.Name) else ""
    return "" if _DRAWING.isdisjoint(written.lower().split("_")) else written


def _leave_keys_alone(machine: Interpreter, method: str) -> bool:
    """Whether there are classes with a method of this name, and none of these reads its key."""
    methods = [cls.attributes[method] for cls in machine.record.classes if method in cls.attributes]
    functions = [innermost_function(it) for it in methods]
    return bool(functions) and not any(it is None or _reads_key(it.syntax) for it in functions)


def _reads_key(function: FunctionSyntax) -> bool:
    body = function.body if isinstance(function.body, list) else [function.body]
    names = (it.id for part in body for it in each(part, ast.Name))
    return function.args.kwarg is not None or any(
        name in _NAMES or name.endswith(("_key", "_rng")) for name in names
    )


def may_be_key(value: Data) -> bool:
    """Whether a value is a key, or is called like one."""
    node = value.node
    if node.is_key:
        return True
    while node.operation in ("turn", "carry", "lane", "slice", "primal") and node.inputs:
        node = node.inputs[0]
    name = node.label if node.operation in ("parameter", "field") else ""
    return name in ("key", "rng") or name.endswith(("_key", "_rng", "subkey"))
