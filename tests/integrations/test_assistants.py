"""What `integrations/` gives to assistants: by the formats that these publish, and in use."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from verax.audit.render import to_concise
from verax.audit.rules.registry import all_rules
from verax.cli.arguments import parser

from ..audit.sample import REPORT
from ..audit.source.repositories import write
from .test_hook import FINE, WRONG, edited

ROOT = Path(__file__).parents[2] / "integrations"
PLUGIN = ROOT / "claude-code"
FILES = sorted(path for path in ROOT.rglob("*") if path.is_file())
PAGES = [path for path in FILES if path.suffix in (".md", ".mdc")]
SERVERS = {"audit", "explain", "flow", "check_snippet"}

# What the formats ask for, as their documentation has it; what it does not name is refused, since
# nobody would read it.
TEXT = {"type": "string", "minLength": 1}
NAME = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}


def closed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def many(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": 1}


OWNER = closed({"name": TEXT}, {"email": TEXT, "url": TEXT})
# code.claude.com/docs/en/plugins-reference
MANIFEST = closed(
    {"name": NAME},
    {
        **dict.fromkeys(("description", "version", "homepage", "repository", "license"), TEXT),
        "author": OWNER,
        "keywords": many(TEXT),
    },
)
# code.claude.com/docs/en/plugin-marketplaces
MARKETPLACE = closed(
    {
        "name": NAME,
        "owner": OWNER,
        "plugins": many(
            closed(
                {"name": NAME, "source": {"type": "string", "pattern": r"^\./"}},
                {"description": TEXT},
            )
        ),
    }
)
# code.claude.com/docs/en/hooks
COMMAND = closed(
    {"type": {"const": "command"}, "command": TEXT},
    {"timeout": {"type": "number", "exclusiveMinimum": 0}},
)
EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SubagentStop", "SessionStart")
MATCHED = many(closed({"hooks": many(COMMAND)}, {"matcher": TEXT}))
HOOKS = closed(
    {"hooks": closed({}, dict.fromkeys(EVENTS, MATCHED))},
    {"description": TEXT},
)
# code.claude.com/docs/en/mcp, cursor.com/docs/context/mcp
SERVER = closed(
    {"type": {"const": "stdio"}, "command": TEXT}, {"args": many(TEXT), "env": {"type": "object"}}
)
MCP = closed({"mcpServers": closed({"verax": SERVER})})
# code.visualstudio.com/docs/copilot/reference/mcp-configuration
VSCODE_MCP = closed({"servers": closed({"verax": SERVER})}, {"inputs": {"type": "array"}})
# code.visualstudio.com/docs/debugtest/tasks
GROUP = {"type": "integer", "minimum": 1}
PATTERN = closed(
    {"regexp": TEXT, "file": GROUP, "line": GROUP, "column": GROUP, "message": GROUP},
    {"code": GROUP, "severity": GROUP},
)
MATCHER = closed(
    {"owner": TEXT, "pattern": PATTERN, "fileLocation": {}},
    {"source": TEXT, "severity": {"enum": ["error", "warning", "info"]}},
)
TASKS = closed(
    {
        "version": {"const": "2.0.0"},
        "tasks": many(
            closed(
                {
                    "label": TEXT,
                    "type": {"enum": ["shell", "process"]},
                    "command": TEXT,
                    "problemMatcher": MATCHER,
                },
                {"group": {"enum": ["build", "test", "none"]}, "presentation": {"type": "object"}},
            )
        ),
    }
)
FORMATS = {
    ".claude-plugin/marketplace.json": MARKETPLACE,
    "claude-code/.claude-plugin/plugin.json": MANIFEST,
    "claude-code/.mcp.json": MCP,
    "claude-code/hooks/hooks.json": HOOKS,
    "cursor/.cursor/mcp.json": MCP,
    "vscode/.vscode/mcp.json": VSCODE_MCP,
    "vscode/.vscode/tasks.json": TASKS,
}


def data(name: str) -> Any:
    return json.loads((ROOT / name).read_text())


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_follows_its_format(name: str):
    Draft202012Validator.check_schema(FORMATS[name])
    Draft202012Validator(FORMATS[name]).validate(data(name))


def test_every_file_has_a_format():
    names = {str(path.relative_to(ROOT)) for path in FILES if path.suffix == ".json"}
    assert names == set(FORMATS)


def test_the_marketplace_has_the_plugin():
    (entry,) = data(".claude-plugin/marketplace.json")["plugins"]
    assert (ROOT / entry["source"]).resolve() == PLUGIN
    assert data("claude-code/.claude-plugin/plugin.json")["name"] == entry["name"]


def front_matter(page: Path) -> tuple[dict[str, str], str]:
    """What stands above a page, of which each entry is a line, and the page itself."""
    opening, head, body = page.read_text().split("---\n", 2)
    assert opening == ""
    pairs = dict(line.split(": ", 1) for line in head.splitlines())
    # Otherwise YAML would have these in quotes.
    assert not any(re.search(r": | #|^[^\w*]", value) for value in pairs.values())
    return pairs, body


def test_the_agent_reads_and_reports_in_six_sections():
    (page,) = (PLUGIN / "agents").iterdir()
    head, body = front_matter(page)
    assert set(head) == {"name", "description", "tools"}
    assert head["name"] == page.stem
    assert "proactively" in head["description"]
    tools = head["tools"].split(", ")
    assert tools[:3] == ["Read", "Grep", "Glob"]
    assert tools[3:] == [f"mcp__plugin_verax_verax__{name}" for name in served_tools()]
    assert re.findall(r"^### (\d)\. (.*)$", body, re.MULTILINE) == [
        ("1", "End-to-End Data Flow"),
        ("2", "Transformation Stack"),
        ("3", "Shape Trace at Boundaries"),
        ("4", "Issues Found"),
        ("5", "Verified Correct"),
        ("6", "Warnings"),
    ]


def served_tools() -> list[str]:
    """The tools as a client meets them."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "verax", "mcp"])
    return [tool.name for tool in anyio.run(listed, server).tools]


async def listed(server: StdioServerParameters) -> Any:
    async with Client(stdio_client(server)) as client:
        return await client.list_tools()


def test_the_skill():
    (page,) = (PLUGIN / "skills").glob("*/*")
    head, body = front_matter(page)
    assert page.name == "SKILL.md"
    assert set(head) == {"name", "description"}
    assert head["name"] == page.parent.name
    assert re.fullmatch(NAME["pattern"], head["name"])
    assert len(head["name"]) <= 64
    assert len(head["description"]) <= 1024
    assert len(body.split()) < 1000


def test_the_rule_of_cursor():
    head, body = front_matter(ROOT / "cursor/.cursor/rules/verax.mdc")
    assert set(head) == {"description", "globs", "alwaysApply"}
    assert head["alwaysApply"] in ("true", "false")
    assert all(re.fullmatch(r"[\w*./-]+", glob) for glob in head["globs"].split(","))
    assert body.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_ones_that_verax_has(page: Path):
    understand = parser(id, id, id)  # pyright: ignore[reportArgumentType]
    commands = re.findall(r"`verax ([^`]+)`", page.read_text())
    for command in commands:
        if command != "hook":
            words = shlex.split(command.replace("CODE", "RK001"))
            assert understand.parse_args(words).run is not None


def test_rules_that_are_named_exist():
    codes = {rule.code for rule in all_rules()}
    named = {code for page in PAGES for code in re.findall(r"\b[A-Z]{2}\d{3}\b", page.read_text())}
    assert named
    assert named <= codes


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch) -> None:
    """The command `verax`, as an assistant finds it."""
    script = tmp_path / "bin" / "verax"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m verax "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("on_path")
def test_the_hook_of_claude_code(folder: Path):
    (entry,) = data("claude-code/hooks/hooks.json")["hooks"]["PostToolUse"]
    for tool in ("Edit", "Write", "MultiEdit", "NotebookEdit"):
        assert re.fullmatch(entry["matcher"], tool)
    for tool in ("Read", "Bash", "TodoWrite"):
        assert not re.fullmatch(entry["matcher"], tool)
    (command,) = entry["hooks"]

    def run(text: str) -> tuple[int, str]:
        write(a=text)
        ran = subprocess.run(
            command["command"],
            shell=True,
            input=json.dumps(edited("a.py")),
            capture_output=True,
            text=True,
            timeout=command["timeout"],
        )
        return ran.returncode, ran.stderr

    assert run(FINE) == (0, "")
    code, told = run(WRONG)
    assert code == 2
    assert "a.py:5:37: RK001 critical" in told


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("claude-code/.mcp.json", "mcpServers"),
        ("cursor/.cursor/mcp.json", "mcpServers"),
        ("vscode/.vscode/mcp.json", "servers"),
    ],
)
def test_a_server_starts_as_its_file_says(name: str, key: str, folder: Path):
    server = data(name)[key]["verax"]
    variables = r"\$\{(?:workspaceFolder|CLAUDE_PROJECT_DIR:-\.)\}"
    arguments = [re.sub(variables, str(folder), it) for it in server["args"]]
    assert not any("$" in it for it in arguments)
    parameters = StdioServerParameters(
        command=server["command"], args=arguments, env={"PATH": os.environ["PATH"]}
    )
    assert {tool.name for tool in anyio.run(listed, parameters).tools} == SERVERS


def test_vs_code_finds_the_places():
    concise = to_concise.render(REPORT).splitlines()
    for task in data("vscode/.vscode/tasks.json")["tasks"]:
        words = shlex.split(task["command"])
        assert words[0] == "verax"
        assert words[-2:] == ["--format", "concise"]
        pattern = task["problemMatcher"]["pattern"]
        matches = [found for line in concise if (found := re.search(pattern["regexp"], line))]
        assert len(matches) == len(REPORT.findings)
        for found, finding in zip(matches, REPORT.findings, strict=True):
            place = finding.place
            parts = [found[pattern[it]] for it in ("file", "line", "column", "code")]
            assert parts == [place.file, str(place.line), str(place.column), finding.code]
            assert found[pattern["message"]].endswith(finding.title)
