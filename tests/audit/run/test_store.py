"""What a run leaves in `.verax/` comes back as it was, unites in any order, and harms nobody."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.audit.errors import UsageError
from verax.audit.frontends.run import store
from verax.audit.frontends.run.observations import (
    Array,
    Function,
    Leaf,
    Observations,
    Range,
    Run,
    agreed,
    united,
)
from verax.audit.frontends.run.stored_json import NotStoredError, of_json, to_json
from verax.audit.report import Report
from verax.audit.source.definitions import definitions
from verax.cli import main

from ..reports import findings, tuples
from .conftest import execute

# --- what is kept, as values

names = st.text(max_size=6)
leaves = st.builds(Leaf, names, value=names) | st.builds(
    Leaf,
    names,
    st.sampled_from(("float32", "int32", "key<fry>")),
    st.lists(st.integers(0, 99), max_size=3).map(tuple),
    st.booleans(),
    st.booleans(),
)
numbers = st.integers(-(2**63), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
ranges = st.builds(Range, numbers, numbers)


@st.composite
def signatures(draw: st.DrawFn) -> tuple[tuple[Leaf, ...], dict[str, Range]]:
    own = tuple(draw(st.lists(leaves, max_size=3, unique_by=lambda it: it.name)))
    arrays = [it.name for it in own if it.dtype]
    known = draw(st.lists(st.sampled_from(arrays), unique=True)) if arrays else []
    return own, {name: draw(ranges) for name in known}


# Few of each, so that two stores often speak of the same.
functions = st.builds(
    Function,
    st.sampled_from(("jit", "traced")),
    st.sampled_from(("step", "Model.loss")),
    st.sampled_from(("train.py", "\udc80/train.py")),
    st.integers(1, 2),
    st.sampled_from(("", "0a")),
)
reports = st.builds(Report, names, issues=tuples(findings), notes=tuples(names))
runs = st.builds(Run, st.sampled_from("abc"), st.sampled_from("12"), reports)
stores = st.builds(
    Observations,
    st.lists(runs, max_size=2).map(lambda it: {run.id: run for run in it}),
    st.dictionaries(functions, st.lists(signatures(), max_size=2).map(dict), max_size=2),
)


@given(stores)
def test_json_gives_back_what_was_stored(seen: Observations):
    assert of_json(to_json(seen)) == seen
    assert to_json(of_json(to_json(seen))) == to_json(united([seen]))


@given(stores, stores, stores)
@settings(max_examples=50)
def test_it_makes_no_difference_how_stores_are_united(a, b, c):
    assert united([a, b]) == united([b, a])
    assert united([united([a, b]), c]) == united([a, united([b, c])]) == united([a, b, c])
    assert united([a, a]) == united([a]) == a
    assert united([a, b, a]) == united([a, b])
    assert to_json(united([a, b])) == to_json(united([b, a]))


def test_ranges_grow_and_signatures_are_gathered():
    step = Function("jit", "step", "train.py", 1, "0a")
    small, large = (Leaf("x", "float32", (8,)),), (Leaf("x", "float32", (16,)),)
    one = Observations({}, {step: {small: {"x": Range(0, 1)}}})
    other = Observations({}, {step: {small: {"x": Range(-3, 0.5)}, large: {}}})
    assert united([one, other]).functions == {step: {small: {"x": Range(-3, 1)}, large: {}}}


def test_only_what_all_signatures_agree_on_is_known():
    def signature(*arrays: Any) -> tuple[Leaf, ...]:
        return tuple(Leaf(name, dtype, shape) for name, dtype, shape in arrays)

    one = signature(("x", "float32", (8, 4)), ("y", "int32", (8,)), ("z", "float32", ()))
    other = signature(("x", "bfloat16", (16, 4)), ("y", "int32", (8, 1)))
    assert agreed([one]) == {
        "x": Array("float32", (8, 4)),
        "y": Array("int32", (8,)),
        "z": Array("float32", ()),
    }
    # `y` has no rank that is always the same, and `z` is not always there.
    assert agreed([one, other]) == agreed([other, one]) == {"x": Array("", (None, 4))}
    assert agreed([one, (Leaf("x", value="None"),)]) == {}
    assert agreed([]) == {}


# --- files


@given(stores, st.data())
@settings(max_examples=200)
def test_whatever_a_file_holds_it_is_data_or_refused(seen: Observations, data: st.DataObject):
    content = json.loads(to_json(seen))
    wrong = st.sampled_from([None, True, -1, 1e9, "x", [], {}, [[]], {"name": 1}, 10**400])
    _replace_one(content, data.draw(st.randoms(use_true_random=False)), data.draw(wrong))
    try:
        found = of_json(json.dumps(content))
    except NotStoredError:
        return
    # What was taken can be united, written, and shown in every format.
    assert of_json(to_json(united([found]))) == found
    for report in found.reports():
        str(report), report.to_json(), report.to_markdown()


def _replace_one(content: Any, random: Any, value: Any) -> None:
    """Replace some part of JSON data, at any depth."""
    places: list[tuple[Any, Any]] = []
    pending = [content]
    while pending:
        part = pending.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        places += [(part, key) for key in keys]
        pending += [part[key] for key in keys if isinstance(part[key], (dict, list))]
    part, key = random.choice(places)
    part[key] = value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is damaged: it is no JSON"),
        ('{"schema": "verax.run/1", "runs": [', "is damaged: it is no JSON"),
        ("[" * 100_000, "is damaged: it is no JSON"),
        ("[]", "is nothing that `verax run` has stored"),
        ('{"schema": "verax.report/1"}', "is nothing that `verax run` has stored"),
        ('{"schema": "verax.run/9"}', "another version of verax: verax.run/9, not verax.run/1"),
        ('{"schema": "verax.run/1", "runs": []}', "is damaged: there is no 'functions'"),
        ('{"schema": "verax.run/1", "runs": [1], "functions": []}', "a part of a wrong type"),
        ('{"schema": "verax.run/1", "runs": NaN, "functions": []}', "is damaged: it is no JSON"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(content, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text(content)
    for command in ("report", "combine"):
        assert main([command, "x.json"]) == 2
        out, error = capsys.readouterr()
        assert out == ""
        assert error.startswith("verax: error: x.json: ")
        assert reason in error
        assert error.count("\n") == 1
    assert os.listdir() == ["x.json"]


def test_a_file_appears_whole(tmp_path, monkeypatch):
    """Nobody sees the file before it is complete, nor one that could not be completed."""
    seen = Observations({}, {Function("jit", "step", "train.py", 1): {}})
    replace, before = os.replace, list[list[str]]()

    def watched(source: str, target: str) -> None:
        before.append(store.files_in(str(tmp_path)))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    name = store.write(seen, str(tmp_path))
    assert before
    assert not any(before)
    assert store.files_in(str(tmp_path)) == [str(tmp_path / name)]
    assert store.read(str(tmp_path / name)) == seen

    def refused(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(UsageError, match="No space left"):
        store.write(seen, str(tmp_path))
    assert sorted(os.listdir(tmp_path / ".verax")) == [".gitignore", Path(name).name]


def test_a_link_leads_nobody_elsewhere(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".verax").symlink_to("elsewhere")
    with pytest.raises(UsageError, match="not kept"):
        store.write(Observations(), str(tmp_path))
    assert not list((tmp_path / "elsewhere").iterdir())
    (tmp_path / "elsewhere" / "run-1.json").write_text(to_json(Observations()))
    assert store.files_in(str(tmp_path)) == []


# --- definitions

TEXT = """
import jax

@jax.jit
def step(x):
    return x + 1

class Model:
    def loss(self, x):
        def inner(y):
            return y
        return inner(x)
"""


def digests(text: str) -> dict[str, str]:
    return {it.name: it.digest for it in definitions(ast.parse(text), text)}


def test_a_function_is_known_by_its_text():
    before = digests(TEXT)
    assert set(before) == {"step", "Model.loss", "Model.loss.inner"}
    assert digests(TEXT.replace("import jax", "import jax\n\nSIZE = 3")) == before
    edited = digests(TEXT.replace("x + 1", "x + 2"))
    assert {name for name in before if edited[name] != before[name]} == {"step"}
    inside = digests(TEXT.replace("return y", "return -y"))
    assert inside["step"] == before["step"]
    assert inside["Model.loss"] != before["Model.loss"]
    assert digests(TEXT.replace("@jax.jit", "@jax.vmap"))["step"] != before["step"]
    assert digests(TEXT.replace("\n", "\r\n")) == before


# --- whole runs

TRAIN = """
import sys

import jax
import jax.numpy as jnp


def predict(weights, row):
    return row @ weights


@jax.jit
def step(weights, batch, key):
    noise = jax.random.normal(key, batch.shape) * jax.random.uniform(key, batch.shape)
    return jax.vmap(predict, (None, 0))(weights, batch + noise).sum()


size = int(sys.argv[1])
print(step(jnp.arange(4.0), jnp.ones((size, 4)) / 2, jax.random.key(0)) > 0)
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return execute(["-m", "verax", *arguments], folder)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "train.py").write_text(TRAIN)
    for size in ("8", "16"):
        done = run(folder, "run", "--format", "concise", "train.py", size)
        assert done.returncode == 0
        assert "RK001" in done.stderr
    return folder


@pytest.fixture
def project(two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a folder with two runs in its store, as the working directory."""
    folder = tmp_path / "copy"
    subprocess.run(["cp", "-r", two_runs, folder], check=True)
    monkeypatch.chdir(folder)
    return folder


def test_a_run_keeps_what_it_has_seen(project: Path):
    assert (project / ".verax" / ".gitignore").read_text() == "*\n"
    latest, first = (store.read(it) for it in store.files_in(""))
    step = next(it for it in first.functions if (it.kind, it.name) == ("jit", "step"))
    assert (step.file, step.line, len(step.digest)) == ("train.py", 12, 32)
    ((signature, known),) = first.functions[step].items()
    assert signature == (
        Leaf("weights", "float32", (4,)),
        Leaf("batch", "float32", (8, 4)),
        Leaf("key", "key<fry>", (), is_key=True),
    )
    assert known == {"weights": Range(0.0, 3.0), "batch": Range(0.5, 0.5)}
    # What is mapped sees one row, whatever JAX was called with.
    predict = next(it for it in latest.functions if it.name == "predict")
    (row,) = latest.functions[predict]
    assert row == (Leaf("weights", "float32", (4,)), Leaf("row", "float32", (4,)))


def test_nothing_of_the_machine_is_kept(project: Path):
    for file in store.files_in(""):
        assert str(project.parent.parent) not in Path(file).read_text()


def test_a_report_is_shown_again(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    (kept,) = json.loads(Path(store.files_in("")[0]).read_text())["runs"]
    assert shown["issues"] == kept["report"]["issues"]
    assert shown["issues"][0]["code"] == "RK001"
    assert shown["compiled"] == kept["report"]["compiled"]
    assert main(["report", "--fail-on", "critical", "-o", "x.txt"]) == 1
    assert capsys.readouterr().out == ""
    assert "RK001" in Path("x.txt").read_text()
    assert main(["report", "--ignore", "RK", "--fail-on", "critical"]) == 0
    assert "RK001" not in capsys.readouterr().out


def test_a_report_says_what_has_changed(project: Path, capsys: pytest.CaptureFixture[str]):
    def note() -> str:
        assert main(["report", "--format", "concise"]) == 0
        return capsys.readouterr().out

    assert "changed" not in note()
    Path("train.py").write_text("# moved\n" + TRAIN)
    assert "changed" not in note()
    Path("train.py").write_text(TRAIN.replace("row @ weights", "weights @ row"))
    assert "changed since then: predict\n" in note()
    Path("train.py").unlink()
    assert "changed since then: predict, step\n" in note()


def test_runs_are_combined(project: Path, capsys: pytest.CaptureFixture[str]):
    files = store.files_in("")
    assert main(["combine", *files, "-o", "a.json"]) == 0
    assert main(["combine", *reversed(files), files[0], "a.json", "-o", "b.json"]) == 0
    assert Path("a.json").read_text() == Path("b.json").read_text()
    both = store.read("a.json")
    assert len(both.runs) == 2
    step = next(it for it in both.functions if (it.kind, it.name) == ("jit", "step"))
    assert {signature[1].shape for signature in both.functions[step]} == {(8, 4), (16, 4)}
    capsys.readouterr()
    assert main(["report", "a.json", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [it["code"] for it in shown["issues"]] == ["RK001"]
    assert [it["count"] for it in shown["compiled"]] == [1, 1]


def test_files_are_removed_only_when_asked(project: Path, capsys: pytest.CaptureFixture[str]):
    files = store.files_in("")
    assert main(["combine"]) == 0
    assert store.files_in("")[1:] == files
    assert main(["combine", "--remove"]) == 0
    (left,) = store.files_in("")
    assert capsys.readouterr().out.endswith(f"{left}: 2 runs\n")
    assert left not in files
    assert len(store.read(left).runs) == 2
    assert main(["combine", "-o", "-", "--remove"]) == 2
    assert main(["combine", left, "-o", left, "--remove"]) == 0
    assert store.files_in("") == [left]


def test_where_there_is_no_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in ("report", "combine"):
        assert main([command]) == 2
        assert "no run is kept here" in capsys.readouterr().err


def test_a_run_that_keeps_nothing(tmp_path: Path):
    (tmp_path / "train.py").write_text(TRAIN)
    done = run(tmp_path, "run", "--no-store", "--format", "concise", "train.py", "8")
    assert "RK001" in done.stderr
    assert not (tmp_path / ".verax").exists()


def test_a_store_that_cannot_be_written_costs_a_line(tmp_path: Path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / ".verax").write_text("somebody's file")
    done = run(tmp_path, "run", "--format", "concise", "train.py", "8")
    assert (done.returncode, done.stdout) == (0, "True\n")
    assert "RK001" in done.stderr
    assert done.stderr.count("not kept") == 1
    assert (tmp_path / ".verax").read_text() == "somebody's file"


def test_a_file_that_changed_while_it_ran_is_not_known(tmp_path: Path):
    text = "import os, time\nos.utime(__file__, (time.time() + 5,) * 2)\n" + TRAIN
    (tmp_path / "train.py").write_text(text)
    assert run(tmp_path, "run", "train.py", "8").returncode == 0
    (file,) = store.files_in(str(tmp_path))
    assert {it.digest for it in store.read(file).functions} == {""}


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one", "workers"])
def test_a_suite_keeps_one_file(options: tuple[str, ...], tmp_path: Path):
    text = TRAIN.partition("size =")[0] + "\n".join(
        f"def test_{n}(): step(jnp.ones(4), jnp.ones(({n}, 4)), jax.random.key(0))" for n in (5, 6)
    )
    (tmp_path / "test_it.py").write_text(text)
    done = execute(["-m", "pytest", "--verax", "-p", "no:cacheprovider", *options], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "RK001" in done.stdout
    (file,) = store.files_in(str(tmp_path))
    seen = store.read(file)
    step = next(it for it in seen.functions if (it.kind, it.name) == ("jit", "step"))
    assert {signature[1].shape for signature in seen.functions[step]} == {(5, 4), (6, 4)}


def test_reading_a_store_needs_no_jax(project: Path):
    program = (
        "import sys; from verax.cli import main; main(['report']); print('jax' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(store.__file__).parents[5])}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("False\n")
