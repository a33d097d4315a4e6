"""Every public name of these rooms has an example, and the examples print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import verax.state
import verax.transforms

ROOMS = (verax.state, verax.transforms)
MODULES = [
    f"{room.__name__}.{module.name}"
    for room in ROOMS
    for module in pkgutil.iter_modules(room.__path__)
]
PUBLIC = [
    pytest.param(value, id=f"{room.__name__}.{name}")
    for room in ROOMS
    for name, value in vars(room).items()
    # pytest adds names of its own to modules of packages that have a plugin.
    if not name.startswith(("_", "@"))
]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert failed == 0


@pytest.mark.parametrize("value", PUBLIC)
def test_a_public_name_has_an_example(value):
    assert ">>>" in inspect.getdoc(value)
