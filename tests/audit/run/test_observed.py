"""What runs have kept in `.verax/` is what an audit of the files follows functions with."""

import ast
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from verax.audit.frontends.run import store
from verax.audit.frontends.run.observations import TRACED, Function, Leaf, Observations
from verax.audit.source.definitions import definitions
from verax.cli import main

from .conftest import execute

LOSS = """
import jax
import jax.numpy as jnp


@jax.jit
def loss(predicted, target):
    return jnp.mean((predicted - target) ** 2)
"""
COLUMN, ROW = ("float32", (8, 1)), ("float32", (8,))

Array = tuple[str, tuple[int, ...]]
Audit = Callable[..., dict[str, str]]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file, where an audit is started, and a cache that is its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("VERAX_CACHE_DIR", str(tmp_path / "cache"))
    Path("train.py").write_text(LOSS)
    return folder


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Audit:
    """Audit a file; gives the lines of the findings by their codes, and notes."""

    def run(*arguments: str) -> dict[str, str]:
        capsys.readouterr()
        main(["audit", "--format", "json", "--fail-on", "never", *arguments])
        report = json.loads(capsys.readouterr().out)
        found = (*report["issues"], *report["warnings"])
        return {it["code"]: it["current"] for it in found} | {"notes": " ".join(report["notes"])}

    return run


def keep(*signatures: dict[str, Array], name: str = "loss", file: str = "train.py") -> str:
    """Keep that a function, as it is now, was called so."""
    text = Path(file).read_text()
    (found,) = (it for it in definitions(ast.parse(text), text) if it.name == name)
    function = Function(TRACED, name, file, found.line, found.digest)
    seen = {
        tuple(Leaf(parameter, *array) for parameter, array in it.items()): {} for it in signatures
    }
    return store.write(Observations({}, {function: seen}), "")


def test_shapes_of_a_run_are_used(audit: Audit):
    assert audit("train.py") == {"notes": ""}
    keep({"predicted": COLUMN, "target": ROW})
    found = audit("train.py")
    assert found["AX002"].startswith("`predicted` (8, 1) and `target` (8,) broadcast to (8, 8)")
    assert found["notes"].startswith("1 function was also followed on the shapes")
    # In processes of their own, too.
    Path("other.py").write_text("import jax\n")
    assert audit(".", "--jobs", "2", "--no-cache") == found
    assert audit("train.py", "--no-observed") == {"notes": ""}


def test_a_whole_run_is_used(audit: Audit):
    Path("train.py").write_text(
        LOSS + "\n\nimport data\nprint(loss(data.load((8, 1)), data.load((8,))))\n"
    )
    Path("data.py").write_text(
        "import jax.numpy as jnp\n\n\n"
        "def load(shape):\n    return jnp.asarray([1.0] * 8).reshape(shape)\n"
    )
    assert "AX002" not in audit("train.py", "--no-observed")
    assert execute(["-m", "verax", "run", "train.py"], Path.cwd()).returncode == 0
    assert "AX002" in audit("train.py")


def test_a_function_that_has_changed_is_as_if_never_seen(audit: Audit):
    keep({"predicted": COLUMN, "target": ROW})
    Path("train.py").write_text("# moved down\n" + LOSS + "\n\nSIZE = 3\n")
    assert "AX002" in audit("train.py")
    Path("train.py").write_text(LOSS.replace("** 2", "** 4"))
    assert audit("train.py") == {"notes": ""}
    Path("train.py").write_text(LOSS)
    assert "AX002" in audit("train.py")


def test_sizes_that_differ_are_not_known(audit: Audit):
    both = {"predicted": COLUMN, "target": ROW}
    keep(both, {"predicted": ("float32", (8, 8)), "target": ROW})
    assert "AX002" not in audit("train.py")
    shutil.rmtree(".verax")
    # In two runs as in one.
    keep(both)
    keep({"predicted": ("float32", (16, 1)), "target": ("float32", (16, 2))})
    assert "AX002" not in audit("train.py")


def test_a_declaration_counts_more(audit: Audit):
    annotated = LOSS.replace("predicted,", 'predicted: Float[Array, "batch"],')
    Path("train.py").write_text("from jaxtyping import Array, Float\n" + annotated)
    keep({"predicted": COLUMN, "target": ROW})
    assert "AX002" not in audit("train.py")


def test_nothing_is_lost_by_what_was_seen(audit: Audit):
    """A branch that was not taken in the run is followed as before."""
    text = """
import jax


@jax.jit
def noise(x, key):
    if x.ndim == 2:
        return x + jax.random.normal(key, x.shape) * jax.random.uniform(key, x.shape)
    return x
"""
    Path("train.py").write_text(text)
    before = audit("train.py")
    assert "RK001" in before
    keep({"x": ROW, "key": ("key<fry>", ())}, name="noise")
    assert audit("train.py").items() >= {(it, before[it]) for it in before if it != "notes"}


def test_methods_and_inner_functions_are_known(audit: Audit):
    text = """
import jax.numpy as jnp


class Model:
    def loss(self, predicted, target):
        return jnp.mean((predicted - target) ** 2)


def make():
    def loss(predicted, target):
        return jnp.mean((predicted - target) ** 2)

    return loss
"""
    Path("train.py").write_text(text)
    for name in ("Model.loss", "make.loss"):
        assert "AX002" not in audit("train.py")
        keep({"predicted": COLUMN, "target": ROW}, name=name)
        assert "AX002" in audit("train.py")
        shutil.rmtree(".verax")


def test_only_the_store_of_the_working_directory_counts(
    audit: Audit, monkeypatch: pytest.MonkeyPatch
):
    keep({"predicted": COLUMN, "target": ROW})
    monkeypatch.chdir("..")
    assert audit("project/train.py") == {"notes": ""}


def test_with_a_cache_as_without(audit: Audit):
    """Whatever becomes of the store between two audits."""

    def both(*expected: str) -> None:
        for _ in range(2):
            warm = audit("train.py")
            assert warm == audit("train.py", "--no-cache")
            assert {*warm} - {"notes"} == {*expected}

    both()
    first = keep({"predicted": COLUMN, "target": ROW})
    both("AX002")
    os.rename(first, "elsewhere.json")
    both()
    other = keep({"predicted": ROW, "target": ROW})
    both()
    os.unlink(other)
    os.rename("elsewhere.json", first)
    both("AX002")
    shutil.rmtree(".verax")
    both()


def test_a_damaged_file_is_left_out(capsys: pytest.CaptureFixture[str]):
    keep({"predicted": COLUMN, "target": ROW})
    damaged = Path(".verax", "run-1.json")
    damaged.write_text("{")
    assert main(["audit", "train.py", "--format", "concise", "--fail-on", "never"]) == 0
    out, error = capsys.readouterr()
    assert "AX002" in out
    assert error == f"verax: note: {damaged}: is damaged: it is no JSON; it is left out\n"
