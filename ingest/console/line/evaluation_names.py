"""The names of the metrics of evaluations, which state their data, and which of several they are."""

from __future__ import annotations

from holter.ingest.console.line.data_names import names_data


def metric_name(name: str, split: str) -> str:
    """The name of a metric of an evaluation, which has that of its data; `split` is "" for the training."""
    return name if not split or names_data(name) else f"{split}/{name}"


def name_of_mean(name: str, split: str) -> str:
    """The name of the mean of an evaluation whose batches have values of this name."""
    return f"{split}/epoch/{name}"


def best_of(data: str) -> str:
    """What the metrics of the best step are named after: `best`, or `val/best` of an evaluation."""
    return f"{data}/best".lstrip("/")


def name_of_best(name: str, split: str) -> str:
    """The name of a metric of an evaluation, unless it states itself that it is of the best step."""
    if "best" in name.lower():
        return name
    # `val_acc` of the best step is not that of the last one
    return f"{split}/{name}" if split == best_of("") else metric_name(name, split)
