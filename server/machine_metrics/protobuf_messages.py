"""The protobuf messages for which no package exists: Prometheus' WriteRequest, and the Status of OTLP errors.

WriteRequest is version 1.0 of https://prometheus.io/docs/specs/prw/remote_write_spec/, without the metadata,
which are skipped as unknown fields; Status is google.rpc.Status without its details.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_DOUBLE = FieldDescriptorProto.TYPE_DOUBLE
_INT32, _INT64 = FieldDescriptorProto.TYPE_INT32, FieldDescriptorProto.TYPE_INT64
_STRING = FieldDescriptorProto.TYPE_STRING
_PACKAGE = "holter.messages"
_MESSAGES: dict[str, tuple[tuple[str, int, int | str], ...]] = {
    "Label": (("name", 1, _STRING), ("value", 2, _STRING)),
    "Sample": (("value", 1, _DOUBLE), ("timestamp", 2, _INT64)),
    "TimeSeries": (("labels", 1, "Label"), ("samples", 2, "Sample")),
    "WriteRequest": (("timeseries", 1, "TimeSeries"),),
    "Status": (("code", 1, _INT32), ("message", 2, _STRING)),
}
"""The fields of each message: name, number, and type; a field of another message's type is repeated."""


def _message_classes() -> dict[str, Any]:
    file = FileDescriptorProto(name="holter_messages.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind in fields:
            field = message.field.add(name=field_name, number=number)
            if isinstance(kind, str):
                field.label = FieldDescriptorProto.LABEL_REPEATED
                field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                field.label, field.type = FieldDescriptorProto.LABEL_OPTIONAL, kind
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


_CLASSES = _message_classes()
WriteRequest = _CLASSES["WriteRequest"]
Status = _CLASSES["Status"]
