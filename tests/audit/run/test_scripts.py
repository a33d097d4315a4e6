"""`verax run` does what `python` does: same output, files and exit code, and a report besides."""

import json
import signal
import subprocess
import sys
from textwrap import dedent

from .conftest import environment, execute

STEP = """
    import jax
    import jax.numpy as jnp
    import numpy as np


    @jax.jit
    def step(weights, batch, key):
        noise = jax.random.normal(key, batch.shape)
        keep = jax.random.bernoulli(key, 0.9, batch.shape)
        def loss(weights):
            return jnp.mean((batch * keep + noise) @ weights) ** 2
        return weights - 0.1 * jax.grad(loss)(weights)


    def train(steps, size=8):
        weights = jnp.arange(4.0)
        for index in range(steps):
            weights = step(weights, jnp.ones((size, 4)) * index, jax.random.key(index))
        return weights
"""


def test_everything_below_main(run_both):
    script = """
        import sys

        if __name__ == "__main__":
            import jax
            import jax.numpy as jnp
            import numpy as np

            print(sys.argv, __file__.endswith("program/train.py"), sys.path[0][-8:], __spec__)
            print("set up by the script" in sys.modules["__main__"].__dict__.get("note", ""))

            @jax.jit
            def step(weights, key):
                one = jax.random.normal(key, weights.shape)
                other = jax.random.uniform(key, weights.shape)
                return weights + one * other

            weights = jnp.ones(4)
            for index in range(3):
                weights = step(weights, jax.random.key(index))
            np.save("weights.npy", weights)
    """
    program = "train.py", "--lr", "3e-4", "-o", "x"
    both = run_both({"train.py": script}, *program, compare_stderr=True)
    assert "'--lr', '3e-4', '-o', 'x'" in both.stdout
    assert "weights.npy" in both.files
    assert both.codes() == {"RK001"}
    (found,) = both.report["issues"]
    assert (found["line"], found["function"], found["engine"]) == (15, "step", "trace")
    assert both.seen() == ["step"]


def test_a_package_by_m(run_both):
    main = """
        import sys
        from .model import train

        print(sys.argv[1:], sys.argv[0].endswith("train.py"), __package__, __spec__.name, __name__)
        print(sys.path[0].endswith("program"), train(2).tolist())
    """
    files = {"project/__init__.py": "", "project/model.py": STEP, "project/train.py": main}
    both = run_both(files, "-m", "project.train", "--epochs", "2")
    assert "['--epochs', '2'] True project project.train __main__" in both.stdout
    assert both.codes() == {"RK001"}
    assert both.report["issues"][0]["file"].endswith("project/model.py")


def test_a_package_with_a_main(run_both):
    main = "from project.model import train\nprint(train(1).tolist(), __name__)\n"
    files = {"project/__init__.py": "", "project/model.py": STEP, "project/__main__.py": main}
    assert run_both(files, "-m", "project").seen() == ["step"]


def test_a_main_that_a_library_calls(run_both):
    # As absl's app.run and hydra's decorator do: they parse sys.argv, and leave by sys.exit.
    app = """
        import functools, sys

        def main(function):
            @functools.wraps(function)
            def run():
                options = dict(it.split("=") for it in sys.argv[1:])
                sys.exit(function(**options))
            return run
    """
    script = """
        import app
        from model import train

        @app.main
        def main(steps="1"):
            print(train(int(steps)).tolist())

        if __name__ == "__main__":
            main()
    """
    files = {"app.py": app, "model.py": STEP, "train.py": script}
    both = run_both(files, "train.py", "steps=2")
    assert both.code == 0
    assert both.codes() == {"RK001"}


def test_a_script_that_crashes_at_step_three(run_both):
    script = """
        from model import step
        import jax, jax.numpy as jnp

        def go(weights):
            for index in range(10):
                if index == 3:
                    raise RuntimeError("out of luck")
                weights = step(weights, jnp.ones((8, 4)), jax.random.key(index))
                print(index, weights.tolist())

        go(jnp.ones(4))
    """
    both = run_both({"model.py": STEP, "train.py": script}, "train.py", compare_stderr=True)
    assert both.code == 1
    assert "RuntimeError: out of luck" in both.stderr
    assert "verax" not in both.stderr
    assert both.codes() == {"RK001"}
    assert "exit code 1" in both.report["notes"][0]


def test_an_error_inside_of_jit_is_shown_as_ever(run_both):
    script = """
        import jax, jax.numpy as jnp

        @jax.jit
        def step(x):
            return x + jnp.ones(4)

        def row(x):
            return x @ jnp.ones(5)

        try:
            jax.vmap(row)(jnp.ones((2, 3)))
        except TypeError:
            import traceback
            traceback.print_exc()
        step(jnp.ones(3))
    """
    both = run_both({"train.py": script}, "train.py", compare_stderr=True)
    assert both.code == 1
    assert "verax" not in both.stderr
    found = {(it["line"], it["severity"]) for it in both.report["issues"]}
    assert found == {(6, "error"), (9, "error")}


def test_a_script_that_exits(run_both):
    script = "import sys\nfrom model import train\ntrain(1)\nsys.exit(3)\n"
    both = run_both({"model.py": STEP, "train.py": script}, "train.py")
    assert both.code == 3
    assert both.codes() == {"RK001"}
    script = "import sys\nfrom model import train\ntrain(1)\nsys.exit('no data')\n"
    both = run_both({"model.py": STEP, "train.py": script}, "train.py", compare_stderr=True)
    assert (both.code, both.stderr) == (1, "no data\n")


def test_a_script_that_is_interrupted(tmp_path):
    script = """
        import time
        from model import train

        train(2)
        print("trained", flush=True)
        time.sleep(300)
    """
    (tmp_path / "model.py").write_text(dedent(STEP))
    (tmp_path / "train.py").write_text(dedent(script))
    how = {"bare": (), "watched": ("-m", "verax", "run", "--format", "json", "-o", "report.json")}
    ended: dict[str, tuple[int, str]] = {}
    for name, arguments in how.items():
        process = subprocess.Popen(
            [sys.executable, *arguments, "train.py"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "trained\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        ended[name] = process.returncode, errors
    # Which line it was in is up to the time that the signal takes.
    for code, errors in ended.values():
        assert code == -signal.SIGINT
        assert errors.startswith("Traceback (most recent call last):\n")
        assert errors.endswith("\nKeyboardInterrupt\n")
        assert "verax" not in errors
    report = json.loads((tmp_path / "report.json").read_text())
    assert [it["code"] for it in report["issues"]] == ["RK001"]
    assert report["notes"][0] == "the program was interrupted"


def test_a_script_that_forks(run_both):
    script = """
        import os, sys
        import numpy as np

        def work(index):
            child = os.fork()
            if child == 0:
                with open(f"worker{index}.txt", "w") as file:
                    file.write(str(index * index))
                sys.exit(index)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        print([work(index) for index in range(3)])
        sys.stdout.flush()
        from model import train
        print(train(2).tolist())
    """
    both = run_both({"model.py": STEP, "train.py": script}, "train.py")
    assert "[0, 1, 2]" in both.stdout
    assert {"worker0.txt", "worker1.txt", "worker2.txt"} <= set(both.files)
    assert both.codes() == {"RK001"}


def test_what_is_forked_reports_nothing(tmp_path):
    script = """
        import os, sys

        for index in range(2):
            if os.fork() == 0:
                sys.exit()
            os.wait()
        import jax
        jax.jit(lambda x: x + 1)(1.0)
        if os.fork() == 0:
            sys.exit()
        os.wait()
    """
    (tmp_path / "train.py").write_text(dedent(script))
    done = execute(["-W", "ignore", "-m", "verax", "run", "train.py"], tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("train.py, as it ran") == 1
    assert len(list((tmp_path / ".verax").glob("*.json"))) == 1


def test_threads_that_outlive_the_script_are_seen(run_both):
    script = """
        import threading, time
        import jax

        def work():
            time.sleep(1)
            print(float(jax.jit(late)(2.0)))

        def late(x):
            return x * 2

        threading.Thread(target=work).start()
    """
    both = run_both({"train.py": script}, "train.py")
    assert both.stdout == "4.0\n"
    assert both.seen() == ["late"]


def test_a_script_that_starts_processes_and_threads(run_both):
    script = """
        import multiprocessing, threading
        from model import train

        def work(size):
            return train(1, size).tolist()

        if __name__ == "__main__":
            threads = [threading.Thread(target=lambda: done.append(work(5))) for _ in range(2)]
            done = []
            for thread in threads:
                thread.start()
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(work, [3]))
            for thread in threads:
                thread.join()
            print(done[0] == done[1])
    """
    both = run_both({"model.py": STEP, "train.py": script}, "train.py")
    assert both.codes() == {"RK001"}


def test_eight_devices(run_both):
    script = """
        import os
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
        os.environ["JAX_ENABLE_X64"] = "1"
        from functools import partial
        import jax
        import jax.numpy as jnp

        @partial(jax.pmap, axis_name="devices")
        def step(weights, batch, key):
            noise = jax.random.normal(key, weights.shape) * jax.random.uniform(key, weights.shape)
            def loss(weights):
                return jnp.mean(batch @ weights) + jnp.sum(noise * weights)
            gradient = jax.lax.pmean(jax.grad(loss)(weights), "devices")
            return weights - 0.1 * gradient

        weights = jnp.ones((8, 4))
        batch = jnp.arange(8.0 * 16 * 4).reshape(8, 16, 4)
        for index in range(2):
            weights = step(weights, batch, jax.random.split(jax.random.key(index), 8))
        print(jax.device_count(), weights.dtype, weights.tolist())
    """
    both = run_both({"train.py": script}, "train.py")
    assert both.stdout.startswith("8 float64")
    assert both.seen() == ["step"]
    assert "RK001" in both.codes()


def test_nothing_is_said_twice_while_auditing(run_both):
    # Tracing runs the functions once more: what they print, count and collect is theirs alone.
    script = """
        import atexit
        import jax, jax.numpy as jnp

        traced = []
        atexit.register(lambda: print("at the end"))

        @jax.jit
        def step(x):
            print("tracing")
            traced.append(1)
            return x * 2

        step(jnp.ones(3)); step(jnp.ones(3))
        print(len(traced))
    """
    both = run_both({"train.py": script}, "train.py")
    assert both.stdout == "tracing\n1\nat the end\n"
    assert both.seen() == ["step"]


def test_a_script_without_jax(run_both):
    both = run_both({"hello.py": "print('hello')\n"}, "hello.py")
    assert both.report["notes"] == ["the program has not used JAX"]
