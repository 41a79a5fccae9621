from __future__ import annotations

from pathlib import Path

import pytest

from builder.training import watch as events
from cli.watch import StderrWatch, show_sample


def test_a_training_as_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrWatch() as watch:
        watch(
            events.Started(
                name="na\x1bme",
                folder=Path("runs/x"),
                parameters=1234,
                pairs=5000,
                validation_pairs=20,
                batches=10,
                step=30,
                steps=100,
                minutes=2.5,
                threads=2,
            )
        )
        watch(
            events.Progress(
                step=31,
                epoch=3.1,
                loss=1.25,
                rate=1e-4,
                tokens_per_second=12345.6,
                padding=0.1,
                elapsed_s=3.0,
                done=0.31,
                seconds_left=3661.0,
            )
        )
        watch(
            events.Validated(
                step=31,
                metrics={"loss": 0.5, "exact_match": 50.0},
                metric="exact_match",
                is_best=True,
                samples=(events.Sample("[red]a", "b", "c"),),
            )
        )
        watch(events.Finished(step=31, reason="patience", metric="loss", best=0.5, elapsed_s=59.6))

    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert "\x1b" not in stderr
    started, resumed, validated, sample, finished = stderr.splitlines()
    for part in ("1,234", "5,000", "100 updates", "2.5 minutes", "2 threads", "runs/x"):
        assert part in started
    assert "30" in resumed
    for part in ("31", "loss 0.5", "exact_match 50", "training loss 1.25", "12,346 tokens/s"):
        assert part in validated
    assert validated.count("loss") == 2
    assert sample == show_sample("[red]a", "c", "b")
    for part in ("31", "1:00", "patience"):
        assert part in finished


def test_one_of_each_is_in_the_singular(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrWatch() as watch:
        watch(
            events.Started(
                name="x",
                folder=Path("runs/x"),
                parameters=1,
                pairs=1,
                validation_pairs=1,
                batches=1,
                step=0,
                steps=1,
                minutes=1.0,
                threads=1,
            )
        )
        watch(events.Finished(step=1, reason="patience", metric="loss", best=0.5, elapsed_s=1.0))

    text = capsys.readouterr().err
    for noun in ("parameter", "pair", "update", "minute", "thread"):
        assert f"1 {noun}" in text
        assert f"1 {noun}s" not in text


def test_a_sample_shows_the_right_answer_where_the_output_is_wrong() -> None:
    assert show_sample("a", "b", "b") == "  a → b"
    assert show_sample("a", "c", "b").startswith("  a → c")
    assert show_sample("a", "c", "b").endswith("b)")
    assert "\x1b" not in show_sample("\x1b", "\x1b", "\x1b[0m")
