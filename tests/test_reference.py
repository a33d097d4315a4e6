"""Every public name is on a page of the reference, and nothing else is."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import verax

PAGES = Path(__file__).parents[1] / "docs" / "reference"
ROOMS = ["audit", "channel", "runtime", "state", "transforms"]


def public(module: ModuleType) -> set[str]:
    """The names that a module offers to others."""
    return {
        f"{module.__name__}.{name}"
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }


def listed(room: str) -> set[str]:
    page = (PAGES / f"{room}.md").read_text()
    return set(re.findall(r"^::: (\S+)$", page, re.MULTILINE))


@pytest.mark.parametrize("room", ROOMS)
def test_a_page_lists_what_the_room_offers(room: str) -> None:
    own = {name for name in listed(room) if name.count(".") == 2}
    assert own == public(import_module(f"verax.{room}"))


def test_what_verax_itself_offers_is_listed() -> None:
    everything = {name.rpartition(".")[2] for room in ROOMS for name in listed(room)}
    assert set(verax.__all__) - {*ROOMS, "channel"} <= everything


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_listed_exists_and_is_documented(room: str) -> None:
    for name in listed(room):
        home, _, own = name.rpartition(".")
        value = getattr(import_module(home), own)
        is_code = inspect.isclass(value) or inspect.isfunction(value)
        assert inspect.getdoc(value) or not is_code, name
