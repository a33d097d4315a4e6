"""Abstract values: what the interpreter knows of what a Python expression would give."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .graph import Node
from .work import spend

if TYPE_CHECKING:
    from .frame import Frame
    from .parameters import FunctionSyntax
    from .project import Module


class Value:
    """Something that an expression can evaluate to."""

    __slots__ = ()


class Constant(Value):
    """A number, a string, `None`, `...`, or a symbolic size: a value of Python that is known.

    `origin` is where the program writes it down, in which call of which function.
    """

    __slots__ = ("origin", "value")

    def __init__(self, value: Any, origin: tuple[Frame, ast.expr] | None = None):
        self.value: Any = value
        self.origin: tuple[Frame, ast.expr] | None = origin

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


NONE = Constant(None)


class Data(Value):
    """An array, a tree of arrays, or any other object of which only its origin is known.

    `traced` says whether its leaves are tracers that have no value while the program is traced:
    `None` where that is not known. `is_array` says that it is an array or a number for certain, not
    a container. `type` is the full name of what made it, when that is outside of the project.
    `limit` is a bound that an integer stays below.
    """

    __slots__ = ("is_array", "limit", "node", "traced", "type")

    def __init__(
        self,
        node: Node,
        traced: bool | None = None,
        is_array: bool = False,
        type: str = "",
        limit: Any = None,
    ):
        self.node: Node = node
        self.traced: bool | None = traced
        self.is_array: bool = is_array
        self.type: str = type
        self.limit: Any = limit

    def __repr__(self) -> str:
        return f"Data({self.node!r}, traced={self.traced})"


class Sequence(Value):
    """A tuple, a list or a set.

    `items` are its elements in order; where their number is not known, `items` is `None` and
    `element` stands for all of them. `made_in` and `made_at` tell the frame and the nesting of
    control flow in which it was made, for what mutates it; what crosses the boundary of a
    transformation is a copy, of which nothing is known. `words` are the names that its elements
    belong to, where it was made by going through these: the values of a dict, say.
    """

    __slots__ = (
        "element",
        "items",
        "kind",
        "length",
        "made_at",
        "made_in",
        "syntax",
        "type",
        "words",
    )

    def __init__(
        self,
        kind: str,
        items: list[Value] | None,
        element: Value | None = None,
        made_in: Frame | None = None,
        made_at: int = 0,
        length: Any = None,
        type: Class | None = None,
        syntax: ast.AST | None = None,
    ):
        self.kind: str = kind
        self.items: list[Value] | None = items
        self.element: Value | None = element
        self.made_in: Frame | None = made_in
        self.made_at: int = made_at
        self.length: int | Any = len(items) if items is not None else length
        self.type: Class | None = type  # a named tuple's class
        self.syntax: ast.AST | None = syntax
        self.words: list[str] | None = None

    def __repr__(self) -> str:
        return f"{self.kind}({self.items if self.items is not None else self.element})"


class Spread:
    """A key that stands for all keys of another dict, of which none is known: `{**other}`."""

    __slots__ = ()


class Mapping(Value):
    """A dict. With `is_open` it may have more keys than are known."""

    __slots__ = ("is_open", "items", "made_at", "made_in", "syntax")

    def __init__(
        self,
        items: dict[Any, Value],
        is_open: bool = False,
        made_in: Frame | None = None,
        made_at: int = 0,
        syntax: ast.AST | None = None,
    ):
        self.items: dict[Any, Value] = items
        self.is_open: bool = is_open
        self.made_in: Frame | None = made_in
        self.made_at: int = made_at
        self.syntax: ast.AST | None = syntax

    def __repr__(self) -> str:
        return f"dict({self.items})"


def sorted_keys(tree: Mapping) -> list[Any]:
    """The keys of a dict in JAX's order, in which a copy that JAX makes has them too."""
    try:
        return sorted(tree.items)
    except TypeError:
        return list(tree.items)


class View(Sequence):
    """The keys, values or items of a dict, in the order in which they were written if known."""

    __slots__ = ("of",)

    def __init__(self, of: Value, items: list[Value] | None, element: Value | None = None):
        super().__init__("list", items, element)
        self.of: Value = of


def words_of(value: Value) -> list[str] | None:
    """The names in whose order something goes: keys of a dict, words, or pairs of one and more."""
    if isinstance(value, View):
        value = value.of
    if isinstance(value, Mapping):
        is_named = not value.is_open and all(isinstance(key, str) for key in value.items)
        return list(value.items) if is_named else None
    if not isinstance(value, Sequence) or value.kind not in ("tuple", "list"):
        return None
    if value.words is not None or not value.items:
        return value.words
    firsts = [it.items[0] if isinstance(it, Sequence) and it.items else it for it in value.items]
    words = [it.value for it in firsts if isinstance(it, Constant) and isinstance(it.value, str)]
    return words if len(words) == len(firsts) else None


class Function(Value):
    """A function or lambda of the project, with the frame that it closes over."""

    __slots__ = ("cls", "defaults", "frame", "keyword_defaults", "name", "syntax")

    def __init__(
        self,
        syntax: FunctionSyntax,
        frame: Frame,
        defaults: list[Value],
        keyword_defaults: dict[str, Value],
        name: str,
        cls: Class | None = None,
    ):
        self.syntax: FunctionSyntax = syntax
        self.frame: Frame = frame
        self.defaults: list[Value] = defaults
        self.keyword_defaults: dict[str, Value] = keyword_defaults
        self.name: str = name
        self.cls: Class | None = cls

    def __repr__(self) -> str:
        return f"Function({self.name})"


class Bound(Value):
    """A method of an object."""

    __slots__ = ("function", "owner")

    def __init__(self, function: Value, owner: Value):
        self.function: Value = function
        self.owner: Value = owner


class Partial(Value):
    """`functools.partial` of a function. With `is_open` it may bind more than is known."""

    __slots__ = ("args", "function", "is_open", "keywords")

    def __init__(
        self,
        function: Value,
        args: list[Value],
        keywords: dict[str, Value],
        is_open: bool = False,
    ):
        self.function: Value = function
        self.is_open: bool = is_open
        self.args: list[Value] = args
        self.keywords: dict[str, Value] = keywords


class Transformed(Value):
    """A function under a transformation: `jax.jit(f)`.

    `kind` is JAX's word, `options` the other arguments of the transformation by name. With
    `is_filtered` leaves that are not arrays pass through, as in equinox.
    """

    __slots__ = ("frame", "function", "is_filtered", "kind", "options", "rules", "syntax")

    def __init__(
        self,
        kind: str,
        function: Value,
        options: dict[str, Value],
        syntax: ast.AST,
        frame: Frame,
        is_filtered: bool = False,
    ):
        self.kind: str = kind
        self.function: Value = function
        self.options: dict[str, Value] = options
        self.syntax: ast.AST = syntax
        self.frame: Frame = frame
        self.is_filtered: bool = is_filtered
        self.rules: dict[str, Value] = {}  # fwd and bwd of custom derivatives

    def __repr__(self) -> str:
        return f"Transformed({self.kind}, {self.function!r})"


class External(Value):
    """Something from outside of the project, by its full name: `jax.numpy.sum`."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name: str = name

    def __repr__(self) -> str:
        return f"External({self.name})"


class Imported(Value):
    """A module of the project."""

    __slots__ = ("module",)

    def __init__(self, module: Module):
        self.module: Module = module


# Classes that a class derives from, as far as they are gone through.
_ANCESTORS = 64


class Class(Value):
    """A class of the project.

    `fields` are the annotated names of its body, in order; `attributes` what its body assigns.
    """

    __slots__ = (
        "attributes",
        "bases",
        "decorators",
        "derived",
        "fields",
        "frame",
        "leaf_names",
        "name",
        "registration",
        "syntax",
    )

    def __init__(self, syntax: ast.ClassDef, frame: Frame, bases: list[Value]):
        self.syntax: ast.ClassDef = syntax
        self.frame: Frame = frame
        self.name: str = syntax.name
        self.bases: list[Value] = bases
        self.decorators: list[Value] = []
        self.attributes: dict[str, Value] = {}
        self.fields: dict[str, ast.AnnAssign] = {}
        self.registration: Any = None  # the fact that it is registered as a tree
        # The attributes that it is flattened to, if that is known.
        self.leaf_names: frozenset[str] | None = None
        self.derived: list[Class] = []  # the classes of the project that derive from it

    def lineage(self) -> Iterator[Class | External]:
        """The class and what it derives from, as far as that is known, each once."""
        pending: list[Value] = [self]
        seen: set[Value] = set()
        while pending and len(seen) < _ANCESTORS:
            it = pending.pop()
            if isinstance(it, (Class, External)) and it not in seen:
                seen.add(it)
                spend()
                yield it
                if isinstance(it, Class):
                    pending.extend(reversed(it.bases))

    def find(self, name: str) -> Value | None:
        """An attribute of the class or of the classes that it derives from."""
        for cls in self.lineage():
            if isinstance(cls, Class) and name in cls.attributes:
                return cls.attributes[name]
        return None

    def __repr__(self) -> str:
        return f"Class({self.name})"


class Instance(Value):
    """An object of a class of the project; attributes that are not known are parts of its node."""

    __slots__ = ("attributes", "cls", "made_in", "node", "traced")

    def __init__(
        self, cls: Class, node: Node, made_in: Frame | None = None, traced: bool | None = None
    ):
        self.cls: Class = cls
        self.node: Node = node
        self.attributes: dict[str, Value] = {}
        self.made_in: Frame | None = made_in
        self.traced: bool | None = traced

    def __repr__(self) -> str:
        return f"Instance({self.cls.name})"


def class_of(value: Value) -> Class | None:
    """The class of the project that an object or a named tuple is of."""
    if isinstance(value, Instance):
        return value.cls
    return value.type if isinstance(value, Sequence) else None


def leaves(value: Value, limit: int = 200) -> list[Data]:
    """The data in a value, through containers, each of which may hold itself."""
    if isinstance(value, Data):
        return [value]
    found: list[Data] = []
    seen: set[int] = set()
    pending: list[Value] = [value]
    while pending and len(found) < limit and len(seen) < 1000:
        item = pending.pop()
        if isinstance(item, Data):
            found.append(item)
            continue
        if isinstance(item, Constant) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Sequence):
            if item.items is not None:
                pending.extend(reversed(item.items))
            elif item.element is not None:
                pending.append(item.element)
        elif isinstance(item, Mapping):
            pending.extend(reversed(item.items.values()))
        elif isinstance(item, Instance):
            if item.attributes:
                pending.extend(reversed(item.attributes.values()))
            else:
                found.append(Data(item.node, item.traced))
        elif isinstance(item, Partial):
            pending.extend((*item.args, *item.keywords.values()))
        elif isinstance(item, Bound):
            pending.append(item.owner)
    spend(len(found) + len(seen))
    return found


# Containers of more parts are not gone through part by part.
LARGEST = 1000


def is_bounded(value: Value) -> bool:
    """Whether a container has few parts, counting those again that several containers share.

    To go through one by recursion may otherwise never end: `a = (a, a)`, sixty times.
    """
    if not isinstance(value, (Sequence, Mapping)):
        return True
    count = 0
    pending: list[Value] = [value]
    while pending:
        item = pending.pop()
        count += 1
        if isinstance(item, Sequence):
            if item.items is not None:
                pending.extend(item.items)
            elif item.element is not None:
                pending.append(item.element)
        elif isinstance(item, Mapping):
            pending.extend(item.items.values())
        if count + len(pending) > LARGEST:
            return False
    return True


def nodes_of(value: Value) -> list[Node]:
    """The nodes of the data in a value."""
    if isinstance(value, Data):
        return [value.node]
    if isinstance(value, (Constant, External, Function)):
        return []
    return [leaf.node for leaf in leaves(value)]


def mapped(value: Value, change: Callable[[Data], Value], is_same: bool = False) -> Value:
    """A value with its data changed, containers kept: as copies, or with `is_same` as they are."""
    if isinstance(value, Data):
        return change(value)
    if isinstance(value, (Sequence, Mapping, Instance)):
        return _Copies(change, is_same).of(value)
    return value


class _Copies:
    """Copies of containers, each made once: they may hold each other, and themselves."""

    def __init__(self, change: Callable[[Data], Value], is_same: bool):
        self._change = change
        self._is_same = is_same
        self._made: dict[int, Value] = {}

    def of(self, value: Value) -> Value:
        """The copy of a value."""
        if isinstance(value, Data):
            return self._change(value)
        if not isinstance(value, (Sequence, Mapping, Instance)):
            return value
        known = self._made.get(id(value))
        if known is not None:
            return known
        if len(self._made) > 1000:
            return value
        made_in = value.made_in if self._is_same else None
        if isinstance(value, Sequence):
            return self._sequence(value, made_in)
        if isinstance(value, Mapping):
            copy = Mapping({}, value.is_open, made_in, value.made_at, value.syntax)
            self._made[id(value)] = copy
            keys = value.items if self._is_same else sorted_keys(value)
            copy.items = {key: self.of(value.items[key]) for key in keys}
            return copy
        return self._instance(value, made_in)

    def _sequence(self, value: Sequence, made_in: Frame | None) -> Sequence:
        copy = Sequence(
            value.kind, None, None, made_in, value.made_at, value.length, value.type, value.syntax
        )
        self._made[id(value)] = copy
        if value.items is not None:
            copy.items = [self.of(item) for item in value.items]
        if value.element is not None:
            copy.element = self.of(value.element)
        return copy

    def _instance(self, value: Instance, made_in: Frame | None) -> Instance:
        changed = self._change(Data(value.node, value.traced))
        node = changed.node if isinstance(changed, Data) else value.node
        traced = changed.traced if isinstance(changed, Data) else value.traced
        copy = Instance(value.cls, node, made_in, traced)
        self._made[id(value)] = copy
        copy.attributes = {name: self.of(item) for name, item in value.attributes.items()}
        return copy
