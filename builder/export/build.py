"""A generator into the graph of its file, by way of its parts."""

from __future__ import annotations

import copy
from typing import NamedTuple

import onnx_ir as ir
import torch

from builder.blueprint.export import Export
from builder.export.join import join
from builder.export.names import restore_names
from builder.export.side_data import Content, Drafts
from builder.export.trace import trace
from builder.generate import Generator, as_tensors
from builder.nn.joint import join_projections


class Built(NamedTuple):
    """The whole graph, and the one of a single step, which shows logits."""

    graph: ir.Model
    step: Content


def build(generator: Generator, form: Export, drafts: Drafts) -> Built:
    """Trace the parts of `generator` and join them, with options as `form` has them."""
    options = dict(generator.options)
    model = copy.deepcopy(generator.decoding.model)
    join_projections(model)
    generator = generator.with_model(model)
    prefix = torch.full((1, 1), -1) if generator.takes_prefix else None
    asked, places = as_tensors(options, prefix, torch.device("cpu"))
    traced = trace(generator.decoding, asked, places, opset=form.opset)
    step = drafts.content(traced.step)
    inputs = [*options, *(["target_prefix"] if generator.takes_prefix else [])]
    graph = join(traced, options, inputs=inputs, defaults=form.options == "defaults")
    restore_names(graph, {name: p.detach().numpy() for name, p in model.named_parameters()})
    return Built(graph, step)
