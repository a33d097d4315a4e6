"""Importing what is audited, in a process of its own, with all that can go wrong there."""

import os
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from verax.audit._child import serve
from verax.audit.child import Given, audit_in_child, request_for
from verax.audit.errors import UsageError
from verax.audit.report import Report
from verax.audit.target import FunctionTarget, parse_target


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(file: str, text: str) -> None:
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def function(text: str) -> FunctionTarget:
    target = parse_target(text)
    assert isinstance(target, FunctionTarget)
    return target


def audit(text: str, timeout: float = 60, **given) -> Report:
    return audit_in_child(function(text), Given(**given), timeout)


def refused(text: str, timeout: float = 60, **given) -> str:
    """The one line that says why there is no report."""
    with pytest.raises(UsageError) as error:
        audit(text, timeout, **given)
    assert "\n" not in str(error.value)
    return str(error.value)


STEP = "def step(x):\n    return x * 2\n"


def test_a_function_is_imported_and_audited(capfd):
    write("train.py", 'import os\nprint("hello")\nos.write(1, b"from below")\n' + STEP)
    report = audit("train.py:step", specs=["x=f32[batch=8]"])
    assert report.target == "train.py:step"
    out, err = capfd.readouterr()
    assert out == ""
    assert "hello\n" in err
    assert "from below" in err


def test_a_file_finds_its_neighbours_and_the_working_directory():
    write("here.py", "HERE = 1")
    write("sub/beside.py", "BESIDE = 1")
    write("sub/train.py", "import here, beside\n" + STEP)
    assert audit("sub/train.py:step", specs=["x=f32[]"]).target == "sub/train.py:step"


def test_a_file_in_a_package_finds_its_package():
    write("root/pkg/__init__.py", "")
    write("root/pkg/sub/__init__.py", "")
    write("root/pkg/other.py", "TWO = 2")
    write("root/pkg/sub/random.py", "raise SystemExit('hides the real one')")
    write(
        "root/pkg/sub/train.py",
        "import random\nfrom ..other import TWO\nassert __name__ == 'pkg.sub.train'\n" + STEP,
    )
    assert audit("root/pkg/sub/train.py:step", specs=["x=f32[]"]).target.endswith(":step")


def test_a_module_comes_from_the_working_directory():
    write("pkg/__init__.py", "")
    write("pkg/train.py", "class Model:\n    def step(self, x): return x\nmodel = Model()\n")
    audit("pkg.train:model.step", specs=["x=f32[]"])


@pytest.mark.parametrize("name", ["json", "verax", "01_case"])
def test_a_file_may_be_called_as_anything(name: str):
    write(f"{name}.py", STEP)
    audit(f"{name}.py:step", specs=["x=f32[]"])


def test_what_runs_as_a_program_does_not_run():
    write("train.py", STEP + "if __name__ == '__main__':\n    raise SystemExit\n")
    audit("train.py:step", specs=["x=f32[]"])


def test_threads_that_never_end_do_not_keep_it():
    write(
        "train.py",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n" + STEP,
    )
    start = time.monotonic()
    audit("train.py:step", specs=["x=f32[]"])
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import os\nimport no_such_module\n",
            "importing train.py failed: ModuleNotFoundError: No module named 'no_such_module' "
            "(train.py:2)",
        ),
        ("x = 1\ndef\n", "importing train.py failed: SyntaxError: invalid syntax (train.py:2)"),
        (
            "import json\ndef f():\n    json.loads('x')\nf()\n",
            "importing train.py failed: JSONDecodeError: Expecting value: line 1 column 1 (char 0) "
            "(train.py:3)",
        ),
        (
            "raise RuntimeError('first\\n\\nsecond')",
            "importing train.py failed: RuntimeError: first (train.py:1)",
        ),
        ("raise ValueError", "importing train.py failed: ValueError (train.py:1)"),
        (
            "import sys\nsys.exit(3)",
            "importing train.py: it calls sys.exit(3) (train.py:2); put what runs it below "
            "`if __name__ == '__main__':`",
        ),
        ("input()", "importing train.py failed: EOFError: EOF when reading a line (train.py:1)"),
        (
            "import os\nos._exit(7)",
            "importing train.py: the process ended with exit code 7",
        ),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
            "importing train.py: the process was ended by SIGSEGV",
        ),
        ("def stop(x): ...\n", "train.py has no 'step'; did you mean stop?"),
        ("x = 1\n", "train.py has no 'step'"),
        ("step = 3\n", "train.py:step is a value of type int, not a function"),
    ],
)
def test_an_import_that_fails(source: str, message: str):
    write("train.py", source)
    assert refused("train.py:step") == message


@pytest.mark.parametrize("file", ["jax.py", "jax/__init__.py"])
@pytest.mark.parametrize(
    "head",
    [
        "",
        "import jax\n\n@jax.jit\n",
        "import jax.numpy as jnp\n\n",
        "from jax import numpy as jnp\n\n",
    ],
)
def test_a_module_of_the_users_that_is_called_jax(file: str, head: str):
    write(file, "x = 1\n")
    write("train.py", head + STEP)
    message = refused("train.py:step", specs=["x=f32[batch=8]"])
    assert message == f"`import jax` finds {file}, which is not JAX: give that another name"


def test_a_module_that_is_not_there():
    message = refused("no_such_package.train:step")
    assert message == (
        "importing no_such_package.train failed: ModuleNotFoundError: No module named "
        "'no_such_package'"
    )


def test_a_method_that_is_not_there():
    write("train.py", "class Model:\n    def train_step(self): ...\n")
    message = refused("train.py:Model.step")
    assert message == "train.py:Model has no 'step'; did you mean train_step?"


def test_an_import_that_hangs_is_ended_with_what_it_started():
    write(
        "train.py",
        """
        import pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        pathlib.Path("pid").write_text(str(child.pid))
        time.sleep(600)
        """,
    )
    assert refused("train.py:step", timeout=3) == (
        "importing train.py took more than 3 s; allow more with --timeout"
    )
    pid = int(Path("pid").read_text())
    for _ in range(100):
        if not _runs(pid):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("it still runs")


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


INPUTS = """
import sys
import jax.numpy as jnp
def step(x, y=1): return x * y
def tupled(): return (jnp.ones(3),)
given = {"x": jnp.ones(3), "y": 2}
def broken():
    return [jnp.ones(3)][
        5]
def leaves(): sys.exit()
AXES = {"x": "n"}
WRONG_RANK = {"x": "n m"}
WRONG_PART = {"x": {"w": "n"}}
OTHERS = {"weights": "n", "bias": "n"}
MISSPELT = {"y": "", "xs": "n"}
SHARED = {"x": "n", "weights": "n"}
def axes(): return AXES
single = jnp.ones(3)
"""


@pytest.fixture
def served_here(monkeypatch) -> Iterator[Callable[..., Report]]:
    """Do what the other process does, in this one, where JAX is loaded already.

    For what depends on the request alone; how processes fare is tested above.
    """
    write("train.py", INPUTS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert "train" not in sys.modules
    yield lambda **given: serve(
        request_for(function("train.py:step"), Given(**given)), lambda phase: None
    )
    del sys.modules["train"]


@pytest.mark.parametrize("name", ["tupled", "given"])
@pytest.mark.parametrize("axes", ["AXES", "axes", "SHARED"])
def test_examples_of_the_module(served_here, name: str, axes: str):
    assert served_here(inputs=name, axes=axes).target == "train.py:step"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"inputs": "broken"},
            "broken() in train.py failed: IndexError: list index out of range (train.py:8)",
        ),
        ({"inputs": "leaves"}, "leaves() in train.py: it calls sys.exit() (train.py:10)"),
        ({"inputs": "tuple"}, "train.py has no 'tuple'; did you mean tupled?"),
        (
            {"inputs": "single"},
            "--inputs single: is a value of type ArrayImpl; give a tuple of arguments, or a dict "
            "of keyword arguments",
        ),
        (
            {"inputs": "tupled", "axes": "AXIS"},
            "train.py has no 'AXIS'; did you mean AXES or axes?",
        ),
        (
            {"inputs": "tupled", "axes": "WRONG_RANK"},
            "--axes WRONG_RANK: axes of `x` are declared as 'n m', which names 2, but it has 1: "
            "shape (3,)",
        ),
        (
            {"inputs": "tupled", "axes": "WRONG_PART"},
            "--axes WRONG_PART: axes are declared for `x.w`, which is not there",
        ),
        (
            {"inputs": "tupled", "axes": "OTHERS"},
            "--axes OTHERS: there is no parameter 'weights'; there are x, y",
        ),
        (
            {"inputs": "tupled", "axes": "MISSPELT"},
            "--axes MISSPELT: there is no parameter 'xs'; did you mean x?",
        ),
        (
            {},
            "parameter 'x' is not known; give it with --in 'x=f32[batch=8]', or all arguments "
            "with --inputs",
        ),
    ],
)
def test_examples_that_fail(served_here, given: dict[str, str], message: str):
    with pytest.raises(UsageError) as error:
        served_here(**given)
    assert str(error.value) == message


def test_an_example_that_fails_elsewhere():
    write("train.py", INPUTS)
    assert refused("train.py:step", inputs="leaves") == (
        "leaves() in train.py: it calls sys.exit() (train.py:10)"
    )


def test_examples_that_hang():
    write("train.py", STEP + "import time\ndef slow(): time.sleep(600)\n")
    message = refused("train.py:step", timeout=3, inputs="slow")
    assert message == "making slow in train.py took more than 3 s; allow more with --timeout"


def test_an_exception_of_the_function_is_a_result():
    write("train.py", "def step(x):\n    raise ValueError('no')\n")
    assert audit("train.py:step", specs=["x=f32[]"]).target == "train.py:step"


def test_nothing_is_left_on_the_path_of_the_auditor():
    before = list(sys.path)
    write("train.py", STEP)
    audit("train.py:step", specs=["x=f32[]"])
    assert sys.path == before
    assert "train" not in sys.modules
