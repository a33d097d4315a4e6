"""The handler of `cond` and `switch`: each branch speaks for itself and is silent for others."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import JaxprEqn, primitives

from .._jax import closed
from ._collector import HANDLERS, Arrays, Collector, Scope, evaluate
from ._contents import Spec


class Cond:
    """Branches may emit different payloads; those of a branch not taken are neutral."""

    def specs(self, collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
        return [
            spec
            for branch in eqn.params["branches"]
            for spec in collector.specs(closed(branch)[0], depth)
        ]

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        programs = [closed(branch) for branch in eqn.params["branches"]]
        specs = [scope.specs(jaxpr) for jaxpr, _ in programs]

        def branch(position: int) -> Any:
            def run(*operands: Any) -> tuple[Arrays, list[Arrays]]:
                outs, own = evaluate(scope, *programs[position], operands)
                earlier = [spec.neutral() for group in specs[:position] for spec in group]
                later = [spec.neutral() for group in specs[position + 1 :] for spec in group]
                return outs, [*earlier, *own, *later]

            return run

        index, *operands = args
        branches = [branch(position) for position in range(len(programs))]
        return jax.lax.switch(index, branches, *operands)


HANDLERS[primitives.cond_p] = Cond()
