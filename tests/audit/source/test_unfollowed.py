"""Functions that are not followed to their end: which, from where on, and why."""

import json
import textwrap
from pathlib import Path

import pytest

from verax.audit import Report
from verax.audit.source.analyse import audit_text
from verax.audit.source.engine import Options, audit_paths
from verax.audit.source.limits import DEFAULT
from verax.cli import main

# Lists, since a call with nothing but one unknown value is like any other, and is not followed.
LINE = "    x = [*x, 1]\n"
# Two calls of it are more than a function of the host may cost.
LONG = f"def work(x):\n{LINE * (DEFAULT.statements_on_host * 3 // 5)}    return x\n\n"
BUSY = "def {name}(x):\n    x = work([x])\n    x = work([x])\n    return work([x])\n\n"


def cut(text: str) -> list[tuple[str, int, str]]:
    """The functions that are not followed, with the line of the call and the reason."""
    report = audit_text(text, strict=True)
    return [(it.place.function, it.place.line, it.reason) for it in report.unfollowed]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_long_program_outside_of_transformations():
    text = LONG + "def main(x):\n    x = work([x])\n    x = work([x])\n    return work((x,))\n"
    reason = f"more than {DEFAULT.statements_on_host} statements outside of transformations"
    assert cut(text) == [("main", line_of(text, "return work((x"), reason)]


def test_the_line_is_one_of_the_function_that_began():
    text = LONG + BUSY.format(name="inner") + "def outer(x):\n    return inner(x)\n"
    assert [it[:2] for it in cut(text)] == [
        ("inner", line_of(text, "return work([x])")),
        ("outer", line_of(text, "return inner(x)")),
    ]


def test_a_function_that_is_called_very_often():
    calls = "".join(f"    x = step([x], {number})\n" for number in range(DEFAULT.runs + 2))
    text = f"def step(x, n):\n    return x\n\ndef main(x):\n{calls}    return x\n"
    reason = f"more than {DEFAULT.runs} calls of `step`"
    assert cut(text) == [("main", line_of(text, f"x = step([x], {DEFAULT.runs})"), reason)]


def test_calls_inside_of_calls():
    text = "def f0(x):\n    return x\n\n"
    for number in range(1, DEFAULT.depth + 3):
        text += f"def f{number}(x):\n    return f{number - 1}([x])\n\n"
    reason = f"more than {DEFAULT.depth} nested calls"
    assert {reason} == {it[2] for it in cut(text)}


def test_a_compiled_function_may_cost_more():
    program = LONG + BUSY.format(name="step") + "compiled = jax.jit(step)\n"
    assert [it[0] for it in cut("import jax\n" + program)] == ["step"]
    many = "".join(f"    x = w{number}([x])\n" for number in range(25))
    works = "".join(LONG.replace("work", f"w{number}") for number in range(25))
    text = f"import jax\n\n{works}\n@jax.jit\ndef step(x):\n{many}    return x\n"
    (found,) = cut(text)
    assert found[0] == "step"
    assert found[2] == f"more than {DEFAULT.statements} statements"


TRAINING = """
import jax
import jax.numpy as jnp

def loss(w, x, labels, mask):
    accuracy = jnp.sum(((x @ w > 0) == labels) * mask) / mask.sum()
    return jnp.mean((x @ w - labels) ** 2 * mask), accuracy

@jax.jit
def step(w, x, labels, mask):
    return jax.grad(loss, has_aux=True)(w, x, labels, mask)

"""


def test_a_function_that_is_called_beyond_a_limit_is_known_from_where_it_was_followed():
    main = "def main(w, x, y, mask):\n    x = work([x])\n    x = work([x])\n"
    for end in ("    return x\n", "    return step([w], x, y, mask), loss([w], x, y, mask)\n"):
        text = LONG + TRAINING + main + end
        assert bool(cut(text)) == ("step" in end)
        found = [(it.code, it.place.line) for it in audit_text(text, strict=True).issues]
        assert found == [("DF109", line_of(text, "return jnp.mean"))]


def test_recursion_is_no_limit():
    assert cut("def f(x):\n    return f(x - 1)\n\nf(1)\n") == []


def test_what_a_module_runs_when_it_is_imported_costs_its_user_nothing(tmp_path: Path):
    (tmp_path / "table.py").write_text(
        "TABLE = 0\n" + "TABLE += 1\n" * 2 * DEFAULT.statements_on_host
    )
    (tmp_path / "use.py").write_text(
        textwrap.dedent("""
        from table import TABLE

        def work(x):
            return [x]

        def main(x):
            return work([TABLE, x])
        """)
    )
    assert not audit_paths([str(tmp_path)], Options(cache=False)).unfollowed


@pytest.fixture(scope="module")
def two_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that take long to go through."""
    folder = tmp_path_factory.mktemp("unfollowed")
    names = ("first", "second")
    compiled = "".join(f"@jax.jit\n{BUSY.format(name=name)}" for name in names)
    for file in ("a.py", "b.py"):
        (folder / file).write_text(f"import jax\n\n{LONG.replace(LINE, LINE * 4)}{compiled}")
    return folder


@pytest.fixture
def project(two_files: Path, monkeypatch) -> Path:
    """The same to work in, with one cache for all tests that only show what is found there."""
    monkeypatch.chdir(two_files)
    monkeypatch.setenv("VERAX_CACHE_DIR", str(two_files / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(two_files / "state"))
    return two_files


def lines(report: Report) -> list[str]:
    return [f"{Path(it.place.file).name} {it.place.function}" for it in report.unfollowed]


def test_the_cache_and_other_processes_tell_the_same(project: Path, own_cache: Path, monkeypatch):
    monkeypatch.setenv("VERAX_CACHE_DIR", str(own_cache))
    expected = ["a.py first", "a.py second", "b.py first", "b.py second"]
    assert lines(audit_paths(["."], Options(jobs=2, cache=False))) == expected
    assert lines(audit_paths(["."])) == expected
    assert lines(audit_paths(["."])) == expected  # from the cache


def test_the_first_are_named_and_all_are_counted(project: Path, capsys):
    line = line_of(Path("a.py").read_text(), "return work")
    first = f"a.py:{line} `first` (more than {DEFAULT.statements} statements)"
    assert main(["audit", "a.py"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"· 2 functions were not followed to the end: {first}, " in out
    assert "; what depends on them is unknown" in out
    assert main(["audit", ".", "--format", "concise"]) == 0
    note, _ = capsys.readouterr().out.splitlines()
    assert note.startswith(f"note: 4 functions were not followed to the end: {first}, ")
    assert note.endswith(" and 1 more (-v names them); what depends on them is unknown")
    assert main(["audit", ".", "--format", "concise", "-v"]) == 0
    *notes, _ = capsys.readouterr().out.splitlines()
    assert len(notes) == 4
    assert notes[0].startswith(f"note: a.py:{line}: `first` is followed up to this call")


def test_functions_of_the_host_are_named_as_well(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = LONG + BUSY.format(name="main")
    Path("main.py").write_text(text)
    line = line_of(text, "return work(")
    assert main(["audit", "main.py", "--format", "concise", "--no-cache"]) == 0
    reason = f"more than {DEFAULT.statements_on_host} statements outside of transformations"
    assert capsys.readouterr().out.splitlines() == [
        f"note: 1 function was not followed to the end: main.py:{line} `main` ({reason}); "
        "what depends on it is unknown",
        "no issues, no warnings, 0 verified",
    ]


@pytest.mark.parametrize("format", ["text", "markdown", "html", "sarif", "github"])
def test_every_format_for_people_says_so(project: Path, capsys, format: str):
    assert main(["audit", ".", "--format", format]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "4 functions were not followed to the end: " in out


def test_json_names_all(project: Path, capsys):
    assert main(["audit", ".", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(it["place"]["file"], it["place"]["function"]) for it in data["unfollowed"]] == [
        ("a.py", "first"),
        ("a.py", "second"),
        ("b.py", "first"),
        ("b.py", "second"),
    ]
    assert data["notes"] == []


def test_sarif_counts_them(project: Path, capsys):
    assert main(["audit", ".", "--format", "sarif"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("4 functions were not followed to the end: a.py:")
