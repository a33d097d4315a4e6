"""What is wrong with a call of `verax run` is said in one line, and nothing runs."""

import pytest

from .conftest import execute


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hello.py").write_text("open('ran', 'w'); print('hello')\n")
    (tmp_path / "wrong.py").write_text("def f(:\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    return tmp_path


WRONG = {
    "no script": ([], "name a script, as in `verax run train.py`"),
    "missing script": (["missing.py"], "missing.py: there is no such script"),
    "folder": (["empty"], "is a folder without a __main__.py"),
    "syntax": (["wrong.py"], "wrong.py:1: "),
    "missing module": (["-m", "missing"], "-m missing: there is no such module"),
    "package without main": (["-m", "package"], "-m package.__main__: there is no such module"),
    "part of what is no package": (["-m", "hello.part"], "-m hello.part: "),
    "steps": (["--steps", "0", "hello.py"], "--steps: '0' is no number of at least 1"),
    "code": (["--select", "XX999", "hello.py"], "--select: "),
    "format": (["--format", "pdf", "hello.py"], "--format: invalid choice"),
    "output": (["-o", "hello.py", "hello.py"], "-o hello.py: would replace"),
    "option of ours that is none": (["--step", "3", "hello.py"], "see verax run --help"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_call(folder, arguments, message):
    done = execute(["-m", "verax", "run", *arguments], folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    if arguments != ["-m", "hello.part"]:  # Python, too, has to import what it looks in.
        assert done.stdout == ""
        assert not (folder / "ran").exists()


def test_help(folder):
    done = execute(["-m", "verax", "run", "--help"], folder)
    assert done.returncode == 0
    assert "verax run [OPTION ...] (SCRIPT | -m MODULE) [ARGUMENT ...]" in done.stdout


def test_options_after_the_script_are_its_own(folder):
    (folder / "show.py").write_text("import sys; print(sys.argv)\n")
    done = execute(["-m", "verax", "run", "show.py", "--steps", "x", "--help", "-m"], folder)
    assert done.stdout == "['show.py', '--steps', 'x', '--help', '-m']\n"
    done = execute(["-m", "verax", "run", "--", "show.py", "--", "a"], folder)
    assert done.stdout == "['show.py', '--', 'a']\n"


def test_an_exit_code_for_findings(folder):
    script = """
import jax, jax.numpy as jnp

@jax.jit
def noisy(key, x):
    return x + jax.random.normal(key, x.shape) * jax.random.uniform(key, x.shape)

noisy(jax.random.key(0), jnp.ones(3))
"""
    (folder / "noise.py").write_text(script)
    codes = {
        fail_on: execute(["-m", "verax", "run", "--fail-on", fail_on, "noise.py"], folder)
        for fail_on in ("critical", "never")
    }
    assert {name: it.returncode for name, it in codes.items()} == {"critical": 1, "never": 0}
    assert "RK001" in codes["never"].stderr
    assert codes["never"].stdout == ""
