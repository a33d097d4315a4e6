"""The ranks of a population by non-dominated sorting, with the method chosen."""

import jax
from stand_ins import on_path, package, run, stand_in


def dominate_relation(x, y):
    worse_nowhere = (x[:, None] <= y[None]).all(-1)
    return worse_nowhere & (x[:, None] < y[None]).any(-1)


on_path("src")
# The package's own `__init__` imports its algorithms and problems.
package("evox", "src/evox")
stand_in("evox", jit_class=lambda cls: cls)
stand_in("evox.utils", dominate_relation=dominate_relation)
for name in ("operators", "operators.selection"):
    package(f"evox.{name}", f"src/evox/{name.replace('.', '/')}")

from evox.operators.selection.non_dominate import non_dominated_sort  # noqa: E402

AXES = {"fitness": ("individual", "objective")}


def entry(fitness):
    return non_dominated_sort(fitness, "full map-reduce")


def inputs():
    return (jax.random.normal(jax.random.key(0), (7, 2)),)


if __name__ == "__main__":
    run(entry, inputs)
