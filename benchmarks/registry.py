"""The benchmarks, by the names that `--only` takes, in the order in which they run."""

from collections.abc import Callable, Iterator

from . import (
    audit_speed,
    bare_program,
    lens_set,
    md_speed,
    nested_lowering,
    passing_step,
    propagation,
    run_cost,
    scan_loop,
    source_precision,
    source_speed,
)
from .timing import Effort, Outcome

REGISTRY: dict[str, Callable[[Effort], Iterator[Outcome]]] = {
    "passing-step": passing_step.run,
    "scan-loop": scan_loop.run,
    "nested-lowering": nested_lowering.run,
    "bare-program": bare_program.run,
    "propagation": propagation.run,
    "lens-set": lens_set.run,
    "md-speed": md_speed.run,
    "audit-speed": audit_speed.run,
    "run-cost": run_cost.run,
    "source-speed": source_speed.run,
    "source-precision": source_precision.run,
}
