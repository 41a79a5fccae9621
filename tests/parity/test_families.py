"""Bundled blueprints compute what the published architectures compute, weight for weight.

`make bench NAME=parity_table` writes what is measured here to docs/parity.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from builder.blueprint.load import load_blueprint
from builder.blueprint.plan import make_plan
from tests.parity import twins
from tests.parity.families import FAMILIES, Family

pytestmark = pytest.mark.filterwarnings("default")  # another library may warn as it likes

Record = Callable[[str, object], None]


@pytest.fixture
def library() -> Any:
    return pytest.importorskip("transformers", reason="compared with `transformers`, not installed")


@pytest.fixture(params=FAMILIES, ids=lambda family: family.blueprint)
def family(request: pytest.FixtureRequest) -> Family:
    return request.param


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


def test_float32(library: Any, family: Family, record_property: Record) -> None:
    pair = twins.twins(library, family)

    difference = twins.compare(pair, family.length)

    record_property("subject", family.blueprint)
    record_property("float32", tuple(difference))
    assert max(difference) <= 1e-5


def test_float64(library: Any, family: Family, record_property: Record) -> None:
    pair = twins.twins(library, family)
    torch.set_default_dtype(torch.float64)

    difference = twins.compare(twins.in_double(pair), family.length)

    record_property("subject", family.blueprint)
    record_property("float64", tuple(difference))
    assert max(difference) <= 1e-10


def test_parameters_of_the_published_size(
    library: Any, family: Family, record_property: Record
) -> None:
    with torch.device("meta"):
        theirs = twins.build_theirs(library, family)

    expected = sum(weight.numel() for weight in twins.weights(theirs, family).values())

    record_property("subject", family.blueprint)
    record_property("parameters", expected)
    assert make_plan(load_blueprint(family.blueprint)).parameters.fixed == expected


def test_the_output_of_t5_is_scaled_by_its_width() -> None:
    model = load_blueprint("t5").model

    assert model.embeddings.output.scale == model.d_model**-0.5
