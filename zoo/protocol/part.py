"""Define the base class of requests and events: typed fields that are checked when read from JSON."""

import functools
from typing import TYPE_CHECKING, Any, Dict, List, Type, TypeVar, Union, get_type_hints

if TYPE_CHECKING:
    from typing import dataclass_transform  # novm
else:

    def dataclass_transform(**_named):
        return lambda cls: cls


Json = Dict[str, Any]
P = TypeVar("P", bound="Part")
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class ProtocolError(ValueError):
    """JSON that violates the protocol; ``problems`` contains one sentence for each problem."""

    def __init__(self, problems: List[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass_transform(kw_only_default=True)
class Part:
    """An object of the protocol: annotations define its fields, and class attributes their defaults.

    Python 3.6 has no dataclasses. Unknown and missing fields raise TypeError. JSON omits fields that are None.
    """

    def __init__(self, **values: Any) -> None:
        fields = self.fields()
        wrong = [name for name in values if name not in fields]
        wrong += [name for name in fields if name not in values and not hasattr(type(self), name)]
        if wrong:
            raise TypeError("%s: unknown or missing: %s" % (type(self).__name__, ", ".join(wrong)))
        for name in fields:
            setattr(self, name, values[name] if name in values else getattr(type(self), name))

    @classmethod
    @functools.lru_cache(maxsize=None)  # resolving them is the slowest part of reading an event
    def fields(cls) -> Dict[str, Any]:
        """Return the type of each field; fields of base classes come first."""
        return get_type_hints(cls)

    @classmethod
    def of(cls: Type[P], json: Any) -> P:
        """Build the part from JSON; ProtocolError lists every field that is unknown, missing or has a wrong type."""
        problems = []  # type: List[str]
        part = _part(cls, json, "", problems)
        if problems:
            raise ProtocolError(problems)
        return part  # type: ignore[no-any-return]

    @classmethod
    def kind_of(cls, name: str, json: Json) -> Any:
        """Return the type of a field, which may depend on other fields of the JSON."""
        return cls.fields()[name]

    @classmethod
    def wrong_values(cls, json: Json) -> List[str]:
        """Return problems with values whose types are valid."""
        return []

    def to_json(self) -> Json:
        """Return the fields that are not None."""
        return {name: _json(value) for name, value in vars(self).items() if value is not None}

    def replace(self: P, **changes: Any) -> P:
        """Return a copy with some fields changed."""
        return type(self)(**dict(vars(self), **changes))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % item for item in vars(self).items()))


def _json(value: Any) -> Any:
    if isinstance(value, Part):
        return value.to_json()
    if isinstance(value, dict):
        return {name: _json(each) for name, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def _part(cls: Type[P], json: Any, path: str, problems: List[str]) -> Any:
    if not isinstance(json, dict):
        problems.append("%s should be an object, got %r" % (path or cls.__name__, json))
        return None
    fields, prefix, before = cls.fields(), path + "." if path else "", len(problems)
    unknown = [name for name in json if name not in fields]
    problems += ["%s%s is unknown, its value is %r" % (prefix, name, json[name]) for name in unknown]
    values = {}
    for name in fields:
        kind = cls.kind_of(name, json)
        if name in json:
            values[name] = _value(kind, json[name], prefix + name, problems)
        elif not hasattr(cls, name):
            if type(None) in (getattr(kind, "__args__", None) or ()):
                values[name] = None
            else:
                problems.append("%s%s is missing" % (prefix, name))
    problems += [prefix + problem for problem in cls.wrong_values(json)]
    return cls(**values) if len(problems) == before else None


def _value(kind: Any, value: Any, path: str, problems: List[str]) -> Any:
    """Convert a JSON value to its type; append problems to the list."""
    origin = getattr(kind, "__origin__", None)
    arguments = getattr(kind, "__args__", None)  # type: Any
    if kind is Any:
        return value
    if origin is Union:  # Optional
        return None if value is None else _value(arguments[0], value, path, problems)
    if origin in (list, List):
        if isinstance(value, (list, tuple)):
            return [_value(arguments[0], each, "%s[%d]" % (path, at), problems) for at, each in enumerate(value)]
        problems.append("%s should be a list, got %r" % (path, value))
    elif origin in (dict, Dict):
        if isinstance(value, dict):
            rows = [(name, each, "%s.%s" % (path, name)) for name, each in value.items()]
            return {name: _value(arguments[1], each, place, problems) for name, each, place in rows}
        problems.append("%s should be an object, got %r" % (path, value))
    elif issubclass(kind, Part):
        return _part(kind, value, path, problems)
    elif not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool) > (kind is bool):
        problems.append("%s should be %s, got %r" % (path, _NAMES[kind], value))
    return value
