"""What `import verax` offers: the same to Python, to type checkers and to a reader of `dir`."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import verax


def typed_exports() -> dict[str, str]:
    """The names below `if TYPE_CHECKING` in `verax/__init__.py`, each with its module."""
    tree = ast.parse(Path(verax.__file__).read_text())
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    exports = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        assert statement.module is not None
        for alias in statement.names:
            assert alias.name == alias.asname, f"line {alias.lineno}: write `x as x` to re-export x"
            exports[alias.name] = statement.module
    return exports


TYPED = typed_exports()


def test_python_and_type_checkers_see_the_same_names():
    assert sorted(TYPED) == verax.__all__


def test_dir_lists_every_public_name():
    assert set(verax.__all__) <= set(dir(verax))


@pytest.mark.parametrize(("name", "module"), TYPED.items())
def test_a_public_name_is_the_one_its_home_defines(name: str, module: str):
    home = f"verax.{name}" if module == "verax" else module
    expected = import_module(home)
    if module != "verax":
        expected = getattr(expected, name)
    assert getattr(verax, name) is expected


def test_an_unknown_attribute_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'verax' has no attribute 'asert'$") as error:
        verax.asert  # noqa: B018
    # What Python needs to print "Did you mean".
    assert (error.value.name, error.value.obj) == ("asert", verax)
