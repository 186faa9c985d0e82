"""The few fields of wandb's records that hold points and settings; hosts and arguments are never read.

Source: wandb/proto/wandb_internal.proto. Older clients name a metric in `key`, newer ones in `nested_key`.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "string": _Field.TYPE_STRING,
    "int64": _Field.TYPE_INT64,
    "int32": _Field.TYPE_INT32,
}
_MESSAGES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "Time": (("seconds", 1, "int64"), ("nanos", 2, "int32")),
    "Item": (("key", 1, "string"), ("nested_key", 2, "*string"), ("value_json", 16, "string")),
    "Step": (("num", 1, "int64"),),
    "History": (("item", 1, "*Item"), ("step", 2, "Step")),
    "StatsItem": (("key", 1, "string"), ("value_json", 16, "string")),
    "Stats": (("timestamp", 2, "Time"), ("item", 3, "*StatsItem")),
    "Config": (("update", 1, "*Item"),),
    "Run": (("config", 4, "Config"),),
    "Metric": (("name", 1, "string"), ("glob_name", 2, "string"), ("step_metric", 4, "string")),
    "Record": (
        ("history", 2, "History"),
        ("config", 5, "Config"),
        ("stats", 7, "Stats"),
        ("metric", 12, "Metric"),
        ("run", 17, "Run"),
    ),
}


def _record_type() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="holter_wandb.proto", package="holter.wandb")
    file.syntax = "proto3"
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            plain = kind.removeprefix("*")
            added = message.field.add(name=field, number=number)
            added.label = _Field.LABEL_REPEATED if kind.startswith("*") else _Field.LABEL_OPTIONAL
            if plain in _TYPES:
                added.type = _TYPES[plain]
            else:
                added.type = _Field.TYPE_MESSAGE
                added.type_name = f".holter.wandb.{plain}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("holter.wandb.Record"))


Record: Any = _record_type()
"""A message with `history`, `stats`, `metric`, `config` and that of `run`; the rest of it is passed over."""
