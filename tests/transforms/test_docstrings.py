"""Every public name of verax.transforms has an example, and the examples print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import verax.transforms

MODULES = [module.name for module in pkgutil.iter_modules(verax.transforms.__path__)]
PUBLIC = [name for name in vars(verax.transforms) if not name.startswith("_")]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    failed, _ = doctest.testmod(importlib.import_module(f"verax.transforms.{module}"))
    assert failed == 0


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(verax.transforms, name))
