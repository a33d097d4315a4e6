"""`verax mcp`, as the SDK's own client meets it: over the pipes of another process."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from verax.assist.pages import page
from verax.assist.server import server_of
from verax.cli import main

from ..audit.source.repositories import commit, write
from .test_hook import FINE, MORE, WRONG

# A helper that returns its key twice, and what uses it: a bug only of both together.
KEEPS = "def split(key):\n    return key, key\n"
USES = """\
import jax
import library


def sample(key):
    first, second = library.split(key)
    return jax.random.normal(first), jax.random.uniform(second)
"""
# Sixty functions with a bug each.
MANY = "import jax\n" + "".join(
    WRONG.removeprefix("import jax\n").replace("def f", f"def f{at}") for at in range(60)
)
RUNS = "from pathlib import Path\nPath('ran').touch()\n"
MOST_TOKENS = 2000


class Answer(NamedTuple):
    text: str
    is_error: bool

    @property
    def places(self) -> list[str]:
        return re.findall(r"^(\S+:\d+):\d+: \w+ critical", self.text, re.MULTILINE)

    @property
    def cursor(self) -> str:
        found = re.search(r"cursor (\S+)\)$", self.text)
        return found[1] if found else ""


def of(result: Any) -> Answer:
    (content,) = result.content
    assert result.structured_content is None, "the same once more costs as much"
    assert len(content.text) / 3.5 <= MOST_TOKENS
    return Answer(content.text, bool(result.is_error))


def served(talk: Any, folder: str = ".") -> Any:
    """What a conversation with the server for a folder comes to."""
    kept = ("VERAX_CACHE_DIR", "XDG_STATE_HOME", "GIT_CEILING_DIRECTORIES")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "verax", "mcp", folder],
        env={name: os.environ[name] for name in kept},
    )

    async def converse() -> Any:
        async with Client(stdio_client(server)) as client:
            return await talk(client)

    return anyio.run(converse)


def ask(tool: str, folder: str = ".", **arguments: object) -> Answer:
    return served(lambda client: asked(client, tool, **arguments), folder)


async def asked(client: Client, tool: str, **arguments: object) -> Answer:
    return of(await client.call_tool(tool, arguments))


def everything(tool: str, **arguments: object) -> list[Answer]:
    """All pages of an answer."""

    async def talk(client: Client) -> list[Answer]:
        pages = [await asked(client, tool, **arguments)]
        while pages[-1].cursor:
            pages.append(await asked(client, tool, **arguments, cursor=pages[-1].cursor))
        return pages

    return served(talk)


def test_its_tools_only_read(folder: Path):
    tools = served(lambda client: client.list_tools()).tools
    assert {it.name for it in tools} == {"audit", "explain", "flow", "check_snippet"}
    for tool in tools:
        hints = tool.annotations.model_dump(by_alias=True)
        assert hints["readOnlyHint"]
        assert not hints["openWorldHint"]
        assert tool.description
        assert all(it["description"] for it in tool.input_schema["properties"].values())


def test_an_audit(folder: Path):
    write(a=WRONG, b=FINE)
    answer = ask("audit")
    assert answer.text == (
        "a.py:5:37: RK001 critical: A random key is used more than once, in f\n"
        "  why: `key` is drawn from again here, after it was drawn from at line 5 | "
        "expected: each key is consumed once: drawn from, or split | "
        "because `key` is drawn from here (a.py:5); and drawn from here (a.py:5)\n"
        "  fix: split `key` and give each use a key of its own, unless equal draws are meant\n"
        "1 certain issue (1 critical), no warnings, 0 verified"
    )
    assert ask("audit", paths=["b.py"]).places == []
    assert ask("audit", select="AX").places == []
    assert ask("audit", select="nonsense").is_error


def test_an_audit_of_another_folder_than_the_working_directory(folder: Path):
    Path("inner").mkdir()
    write(a=WRONG)
    Path("inner/b.py").write_text(WRONG)
    assert ask("audit", folder="inner").places == ["b.py:5"]


def test_an_audit_of_a_change(repository: Path):
    write(a=WRONG)
    commit()
    write(a=f"# moved\n{MORE}")
    answer = ask("audit", diff="HEAD")
    assert answer.places == ["a.py:10"]
    assert "note: 1 finding was there already at HEAD" in answer.text
    assert ask("audit", diff="nonsense") == (
        "Error executing tool audit: --diff nonsense: there is no such revision",
        True,
    )


def test_settings_count(folder: Path):
    write(a=WRONG, b=WRONG)
    Path("pyproject.toml").write_text("[tool.verax]\nexclude = ['b.py']\nbaseline = 'known.json'\n")
    assert main(["audit", "a.py", "--write-baseline", "known.json"]) == 0
    write(a=MORE)
    assert ask("audit").places == ["a.py:9"]


@pytest.mark.parametrize("path", ["/", "/etc", "..", "../project2", "link.py", "links", "a/../.."])
def test_paths_that_leave_the_workspace_are_refused(folder: Path, path: str):
    for place in ("..", "../project2", "../elsewhere"):
        Path(place).mkdir(exist_ok=True)
        Path(place, "a.py").write_text(WRONG)
    Path("a").mkdir()
    Path("link.py").symlink_to("../a.py")
    Path("links").symlink_to("../elsewhere")
    for tool, more in (("audit", {"paths": [path]}), ("flow", {"path": path, "name": "f"})):
        answer = ask(tool, **more)
        assert answer.is_error
        assert f"{path!r} lies outside of the workspace, {folder}" in answer.text


def test_links_and_imports_that_leave_the_workspace_are_not_read(folder: Path):
    Path("../library.py").write_text(KEEPS)
    Path("../wrong.py").write_text(WRONG)
    write(caller=USES)
    Path("library.py").symlink_to("../library.py")
    Path("wrong.py").symlink_to("../wrong.py")
    answer = ask("audit")
    assert answer.places == []
    assert f"note: wrong.py: cannot be read: it lies outside of {folder}" in answer.text
    snippet = USES.replace("sample", "other")
    assert ask("check_snippet", code=snippet).places == []
    # What would be found there otherwise.
    for name, text in (("library", KEEPS), ("wrong", WRONG)):
        Path(f"{name}.py").unlink()
        Path(f"{name}.py").write_text(text)
    assert ask("audit").places == ["caller.py:7", "wrong.py:5"]
    assert ask("check_snippet", code=snippet).places == ["snippet:7"]


def test_links_that_stay_in_the_workspace(folder: Path):
    Path("real").mkdir()
    Path("real/a.py").write_text(WRONG)
    Path("link").symlink_to("real")
    assert ask("audit", paths=["link/a.py"]).places == ["real/a.py:5"]


def test_nothing_is_run_or_written(repository: Path):
    write(train=RUNS + WRONG)
    # To `verax audit`, this name is a function, which it would import.
    Path("train.py:f").write_text(RUNS + WRONG)
    commit()

    def state() -> dict[str, bytes]:
        return {str(it): it.read_bytes() for it in folder_of(repository) if it.is_file()}

    before = state()
    assert ask("audit").places == ["train.py:7"]
    assert ask("audit", paths=["train.py:f"]).places == ["train.py:f:7"]
    assert ask("audit", paths=["train.py:g"]).is_error
    assert ask("audit", diff="HEAD").places == []
    assert not ask("flow", path="train.py", name="f").is_error
    assert ask("check_snippet", code=RUNS + WRONG).places == ["snippet:7"]
    assert state() == before


def folder_of(repository: Path) -> list[Path]:
    return sorted(repository.rglob("*"))


def test_many_findings_come_in_pages(folder: Path):
    write(a=MANY, b="def f(:\n")
    pages = everything("audit")
    assert len(pages) > 3
    places = [place for it in pages for place in it.places]
    assert places == [f"a.py:{5 + 4 * at}" for at in range(60)]
    assert all(it.text.startswith("a.py") for it in pages[:-1])
    assert pages[-1].text.splitlines()[-1] == (
        "60 certain issues (60 critical), no warnings, 0 verified, 1 not audited"
    )
    assert "note: b.py:1: cannot be read" in pages[-1].text


def test_a_cursor_of_what_has_changed(folder: Path):
    async def talk(client: Client) -> tuple[Answer, Answer]:
        write(a=MANY)
        first = await asked(client, "audit")
        write(a=f"\n{MANY}")
        return first, await asked(client, "audit", cursor=first.cursor)

    first, second = served(talk)
    assert first.places[0] == "a.py:5"
    assert second.text.startswith("(what was asked about has changed since that cursor")
    assert second.places[0] == "a.py:6"


def test_a_cursor_that_is_none(folder: Path):
    answer = ask("explain", rule="RK001", cursor="next")
    assert answer.is_error
    assert "there is no such cursor" in answer.text


def test_a_rule_is_explained(folder: Path):
    assert ask("explain", rule="key-reused").text.startswith("# RK001 key-reused\n")
    family = ask("explain", rule="prng").text
    assert "RK001" in family
    assert "RK003" in family
    unknown = ask("explain", rule="RK0010")
    assert unknown.is_error
    assert "RK001" in unknown.text


def test_the_flow_of_a_function(folder: Path):
    write(
        model="""\
import jax
import jax.numpy as jnp


class Model:
    def loss(self, w, x, key):
        noise = jax.random.normal(key)
        again = jax.random.uniform(key)
        return jnp.mean(x @ w) + noise + again


def other(x):
    total = jnp.sum(x)
    return jax.random.normal(x) + jax.random.normal(x) + total
"""
    )
    for name in ("loss", "Model.loss"):
        lines = ask("flow", path="model.py", name=name).text.splitlines()
        assert lines[0].startswith("model.py:8:17: RK001 critical")
        assert lines[3].startswith("Model.loss model.py:6")
        assert lines[4] == "  inputs"
        assert any(it.startswith("  line 7 noise = jax.random.normal(key) noise") for it in lines)
        assert not any("total" in it for it in lines)
    missing = ask("flow", path="model.py", name="los")
    assert missing.is_error
    assert missing.text.endswith("model.py: nothing is called 'los'; there are Model.loss")
    assert "is a folder" in ask("flow", path=".", name="loss").text


def test_a_snippet(folder: Path):
    write(library=KEEPS)
    assert ask("check_snippet", code=WRONG).places == ["snippet:5"]
    assert ask("check_snippet", code=FINE).text == "no issues, no warnings, 0 verified"
    assert ask("check_snippet", code=USES).places == ["snippet:7"]
    assert "cannot be read: " in ask("check_snippet", code="def f(:").text


def test_a_failure_of_verax_is_told(folder: Path):
    class Broken:
        def __getattr__(self, name: str) -> Any:
            def fail(*_: object, **__: object) -> str:
                raise RuntimeError("no idea")

            return fail

    async def talk() -> Answer:
        async with Client(server_of(Broken())) as client:  # pyright: ignore[reportArgumentType]
            return await asked(client, "audit")

    text = "Error executing tool audit: verax itself failed: RuntimeError: no idea"
    assert anyio.run(talk) == (text, True)


def test_it_ends_with_its_input(folder: Path):
    command = [sys.executable, "-m", "verax", "mcp"]
    ran = subprocess.run(command, input="", capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_folder_that_is_not_there(folder: Path, capsys):
    assert main(["mcp", "gone"]) == 2
    assert capsys.readouterr().err == "verax: error: gone: there is no such folder to serve\n"


def test_without_the_extra(folder: Path):
    program = (
        "import sys; sys.modules['mcp'] = None;from verax.cli import main; sys.exit(main(['mcp']))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "verax: error: verax mcp needs version 2 of the MCP SDK: pip install 'verax[mcp]'\n"
    )


@given(st.lists(st.text(max_size=40).map(lambda it: it * 50), max_size=60))
def test_pages_hold_all_there_is_in_order(entries: list[str]):
    entries = [f"<{at} {' '.join(it.split())}>" for at, it in enumerate(entries)]
    cursor, found = "", list[str]()
    for _ in range(len(entries) + 1):
        text = page(entries, cursor)
        assert len(text.encode()) / 3 <= MOST_TOKENS
        found += re.findall(r"^<(\d+) ", text, re.MULTILINE)
        more = re.search(r"\((\d+) more of \d+: cursor (\S+)\)$", text)
        if more is None:
            break
        cursor = more[2]
    assert found == [str(at) for at in range(len(entries))]
