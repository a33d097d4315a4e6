"""Classes of libraries whose methods run under `jit`: the environments of reinforcement learning.

A library that steps many environments at once compiles what its users write for one. Nothing in
their file says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..classes import base_names, innermost_function
from ..values import Class, Function

_GYMNAX = ("step_env", "reset_env")
_METHODS = {
    "gymnax.environments.environment.Environment": _GYMNAX,
    "gymnax.Environment": _GYMNAX,
    "craftax.environment_base.environment_bases.EnvironmentNoAutoReset": _GYMNAX,
    "jaxmarl.environments.MultiAgentEnv": ("step_env", "reset"),
    "jaxmarl.environments.multi_agent_env.MultiAgentEnv": ("step_env", "reset"),
    "jumanji.Environment": ("step", "reset"),
    "jumanji.env.Environment": ("step", "reset"),
    "pgx.core.Env": ("_step", "_init", "_observe"),
    "pgx.Env": ("_step", "_init", "_observe"),
}


def compiled_methods(cls: Class) -> Iterator[Function]:
    """The methods of a class that the library it derives from compiles, with `self` static."""
    names = {name for base in base_names(cls) for name in _METHODS.get(base, ())}
    for name in names:
        function = innermost_function(cls.attributes.get(name))
        if function is not None and function.cls is cls:
            yield function
