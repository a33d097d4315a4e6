"""An assertion over the devices of several processes: each process gets the same answer."""

import socket
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import pathlib, sys
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

address, rank = sys.argv[1], int(sys.argv[2])
jax.config.update("jax_num_cpu_devices", 2)
jax.distributed.initialize(address, num_processes=2, process_id=rank)
import verax

mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
x = jax.make_array_from_callback(
    (8,), NamedSharding(mesh, P("i")), lambda index: jnp.arange(8.0)[index]
)

@jax.jit
@verax.as_result_function
def run(x):
    def shard(x):
        verax.runtime_assert(jnp.all(x < 5), "shard holds {x}", {"x": x})
        return 2 * x
    y = jax.shard_map(shard, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(x)
    verax.runtime_assert(y < 3, "all shards hold {y}", {"y": y})
    return y

result = run(x)
said = [str(assertion).splitlines()[0] for assertion in result.failed_assertions]
devices = len(jax.local_devices()), jax.device_count()
# Not to stdout: what carries messages between processes prints there too.
pathlib.Path(sys.argv[3]).write_text(f"{devices} {result.all_assertions_pass} {said}")
"""


def test_processes_agree_on_a_failure_in_one_of_them(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    outputs = [tmp_path / "first", tmp_path / "second"]
    processes = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, address, str(rank), str(output)])
        for rank, output in enumerate(outputs)
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    said = ["shard holds [4. 5.]", "all shards hold [ 0.  2.  4.  6.  8. 10. 12. 14.]"]
    assert [output.read_text() for output in outputs] == 2 * [f"(2, 4) False {said}"]
