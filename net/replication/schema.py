"""Schema: the components of a game and their fields, declared once for both ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from net.replication.shapes import GENERATIONS, Codes, EntityRef, Int, Shape, Text

PROTOCOL: Final = 1
"""version of the frames"""
FIELDS: Final = 32
"""fields that a component may have"""
COMPONENTS: Final = 256
"""components that a schema may have"""
NAME: Final = 64
"""characters of a name"""
ARCHETYPE: Final = 64
"""characters of an archetype's key"""


class Component:
    """A name and the shapes of its fields, in the order in which they are declared.

        Component("body", x=Fixed(-25, 25, 1 / 256), alive=Bool())

    ValueError for a name that is empty or too long, and for no field or more than FIELDS.
    """

    def __init__(self, name: str, /, **fields: Shape) -> None:
        if not 0 < len(name) <= NAME:
            raise ValueError(f"a component's name has 1 to {NAME} characters: {name!r}")
        self._declare(name, fields)

    def _declare(self, name: str, fields: dict[str, Shape]) -> None:
        if not 0 < len(fields) <= FIELDS:
            raise ValueError(f"component {name!r} has {len(fields)} fields; 1 to {FIELDS} can be replicated")
        for field, shape in fields.items():
            if not isinstance(shape, Shape):
                raise ValueError(f"field {name}.{field} is declared as {shape!r}, which is no shape")
        self.name = name
        self.fields = fields
        self.shapes: tuple[Shape, ...] = tuple(fields.values())
        self._index = {field: number for number, field in enumerate(fields)}

        def column(values: Iterable[int]) -> Codes:
            return np.array([[value] for value in values], np.int64)

        self.limits = column(shape.limit for shape in self.shapes)
        """[fields, 1] the largest code of each"""
        self.halves = column(shape.modulus >> 1 for shape in self.shapes)
        """[fields, 1] half a modulus; 0 where codes don't wrap"""
        self.masks = column(shape.modulus - 1 for shape in self.shapes)
        """[fields, 1] what is kept of codes that wrap; all bits where they don't"""
        self.predicted = column(shape.predicted for shape in self.shapes)
        """[fields, 1] 1 where a step is kept"""
        self.defaults = column(shape.default for shape in self.shapes)
        """[fields, 1] the codes of fields that nobody has set"""
        self.widths = [shape.limit.bit_length() for shape in self.shapes]
        """bits of a code"""
        self.step_widths = [width + 1 for width in self.widths]
        """bits of a difference between codes, zigzag"""
        self.texts = {number: shape for number, shape in enumerate(self.shapes) if isinstance(shape, Text)}
        self.references = [number for number, shape in enumerate(self.shapes) if shape.refers]

    def index(self, field: str) -> int:
        """The number of a field. KeyError, naming both, for one that was not declared."""
        try:
            return self._index[field]
        except KeyError:
            raise KeyError(f"component {self.name!r} has no field {field!r}") from None

    def describe(self) -> list[list[str]]:
        """Names and shapes, in order."""
        return [[field, shape.wire] for field, shape in self.fields.items()]


class _Identity(Component):
    """What every entity has, whatever else it has."""

    def __init__(self) -> None:
        fields: dict[str, Shape] = {
            "generation": Int(0, GENERATIONS - 1),
            "owner": Int(0, (1 << 31) - 1),
            "parent": EntityRef(),
            "archetype": Text(ARCHETYPE),
        }
        self._declare("", fields)


IDENTITY: Final[Component] = _Identity()
GENERATION, OWNER, PARENT, KEY = range(4)
"""the fields of IDENTITY"""


class Schema:
    """All components of a game, sorted by name: which one is which number follows from the names alone.

    ValueError for two of one name, or more than COMPONENTS.
    """

    def __init__(self, components: Iterable[Component]) -> None:
        self.components = tuple(sorted(components, key=lambda component: component.name))
        names = [component.name for component in self.components]
        if len(set(names)) != len(names):
            raise ValueError(f"two components have one name: {sorted({n for n in names if names.count(n) > 1})}")
        if len(names) > COMPONENTS:
            raise ValueError(f"{len(names)} components are more than {COMPONENTS}")
        self.tables = (IDENTITY, *self.components)
        """the components by number, from 1; 0 is what every entity has"""
        self._index = {name: number for number, name in enumerate(names, start=1)}
        text = json.dumps([PROTOCOL, self._listed()], ensure_ascii=False, separators=(",", ":"))
        # half a surrogate pair is escaped, as in JavaScript
        self.fingerprint: Final = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]

    def __getitem__(self, name: str) -> Component:
        return self.tables[self.index(name)]

    def index(self, name: str) -> int:
        """The number of a component. KeyError for one that was not declared."""
        try:
            return self._index[name]
        except KeyError:
            raise KeyError(f"no component {name!r} was declared") from None

    def greeting(self) -> dict[str, Any]:
        """What one end tells the other before any frame: a JSON object."""
        return {"protocol": PROTOCOL, "fingerprint": self.fingerprint, "components": self._listed()}

    def _listed(self) -> list[list[Any]]:
        return [[component.name, component.describe()] for component in self.components]

    def refusal(self, greeting: object) -> str | None:
        """Why the sender of a greeting cannot be served: the first difference; None if there is none.

        Any object may come: it is a peer's.
        """
        if not isinstance(greeting, Mapping):
            return "the greeting is no object"
        protocol = greeting.get("protocol")
        if protocol != PROTOCOL or isinstance(protocol, bool):
            return f"replication protocol {_word(protocol)}, but here it is {PROTOCOL}"
        if greeting.get("fingerprint") == self.fingerprint:
            return None
        theirs: Any = greeting.get("components")
        if not _is_list_of_pairs(theirs):
            return "the greeting does not list its components"
        if len(theirs) != len(self.components):
            return f"{len(theirs)} replicated components, but here are {len(self.components)}"
        for component, (name, fields) in zip(self.components, theirs, strict=True):
            if name != component.name:
                return f"component {_word(name)} where here is {component.name!r}"
            if not _is_list_of_pairs(fields):
                return f"component {name!r} does not list its fields"
            for (field, shape), other in zip(component.describe(), fields, strict=False):
                if other[0] != field:
                    return f"component {name!r} has the field {_word(other[0])} where here is {field!r}"
                if other[1] != shape:
                    return f"field {name}.{field} is {_word(other[1])}, but here it is {shape!r}"
            if len(fields) != len(component.fields):
                return f"component {name!r} has {len(fields)} fields, but here it has {len(component.fields)}"
        return "the fingerprints differ, though all that is listed is the same"


def _is_list_of_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value)


def _word(value: object) -> str:
    """Something of a peer's, short and printable. Nested things are only named by their type."""
    if isinstance(value, str):
        return ascii(value[:NAME])
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int) and abs(value) < 1 << 64:
        return str(value)
    return f"a {type(value).__name__}"
