"""What verax costs, side by side with what users would pick instead.

`make bench` runs all benchmarks, prints a table and compares with the targets; see `--help`.
Each benchmark is one file that answers one question; `registry.py` lists them.
"""

import os

# One thread does all the work: waking another takes longer than a small step, and JAX spares
# programs with callbacks the wait. Both settings are read when JAX starts, which what follows may
# cause.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
).strip()

import jax

jax.config.update("jax_cpu_enable_async_dispatch", False)
