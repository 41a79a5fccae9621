"""A resolved blueprint into YAML that 1.1 and 1.2 readers take for the same values."""

from __future__ import annotations

import re
from typing import Any

import yaml

from builder.blueprint.blueprint import Blueprint

PLAIN = re.compile(r"[^\W\d_][\w./-]*( [\w./-]+)*")
"""Text that needs no quotes, unless it is one of `WORDS`."""
WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that one version of YAML or the other reads as something else than text."""


def dump_blueprint(blueprint: Blueprint) -> str:
    """The resolved form: every default written out; it loads back to an equal blueprint."""
    return yaml.dump(
        blueprint.model_dump(by_alias=True),
        Dumper=_Dumper,
        allow_unicode=True,
        sort_keys=False,
        width=10**9,
    )


def dump_text(value: str) -> str:
    """A text as one line of YAML, with quotes where it needs them."""
    dumped = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=10**9)
    return dumped.removesuffix("...\n").rstrip("\n")


class _Dumper(yaml.SafeDumper):
    """Block sections, lists on one line, and quotes where they are needed."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Write every value out, equal ones too."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "'" if value.isprintable() else '"'
    if PLAIN.fullmatch(value) and value.lower() not in WORDS:
        style = ""
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _real(dumper: yaml.SafeDumper, value: float) -> yaml.Node:
    """The shortest text of the number that has a point, without which 1.1 would read text."""
    text = repr(value)
    if "." not in text:
        text = text.replace("e", ".0e")
    return dumper.represent_scalar("tag:yaml.org,2002:float", text)


def _list(dumper: yaml.SafeDumper, value: Any) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _real)
_Dumper.add_representer(tuple, _list)
_Dumper.add_representer(list, _list)
