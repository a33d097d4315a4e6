"""The suite's ground rules: eight CPU devices, strict JAX, repeatable examples."""

import gc
import os
import signal
import sys
from importlib.metadata import version

# Tests start many a Python: without bytecode on disk, each would compile all of verax anew, and
# each worker would rewrite the assertions of all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Read once, when JAX first looks for devices; hence above its import.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
).strip()
# Most tests run a program once: what optimisations save is less than what they cost. As a setting
# of JAX, not as a flag, so that a test can turn it off whose program runs for long.
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
# To emit fusions by way of MLIR is most of the time that a small program compiles. JAX 0.12 knows
# no other way, and no such flag.
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
    os.environ["XLA_FLAGS"] += " --xla_cpu_use_fusion_emitters=false"
# Of what is left, a third goes into parts that could be compiled at once, where other tests run.
os.environ["XLA_FLAGS"] += " --xla_cpu_parallel_codegen_split_count=1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import hypothesis
import jax

sys.dont_write_bytecode = False

# Some tests send signals, which programs ignore that a shell runs in the background (SIGINT) or
# that `nohup` starts (SIGHUP); whatever a test starts would ignore them as well, and never end.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):  # not on Windows
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A shape that JAX would broadcast silently is a mistake, in our tests and in what they test.
jax.config.update("jax_numpy_rank_promotion", "raise")

# `ci` finds the same examples at every run. `thorough` looks for new ones, and for longer:
#   make test ARGS=--hypothesis-profile=thorough
# A test that wants more examples than most takes a multiple of
# `hypothesis.settings().max_examples`, so that the profile still decides.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=2000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# Tracing makes and drops many objects. To look for cycles among them every 700 takes longer.
gc.set_threshold(20_000, 20, 20)


def pytest_collection_finish() -> None:
    """No test frees the tests, nor what they import: leave both out of every later look."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    profile = hypothesis.settings.get_current_profile_name()
    return f"jax {jax.__version__}, hypothesis profile {profile}"


# Programs to be audited, some of them of libraries that the tests do not install.
collect_ignore_glob = ["audit/programs/*", "audit/lookalikes/*"]
