"""Every public name of verax.state has an example, and the examples print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import verax.state

MODULES = [module.name for module in pkgutil.iter_modules(verax.state.__path__)]
PUBLIC = [name for name in vars(verax.state) if not name.startswith("_")]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    failed, _ = doctest.testmod(importlib.import_module(f"verax.state.{module}"))
    assert failed == 0


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(verax.state, name))
