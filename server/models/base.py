"""The declarative base of all tables: constraint names, column types of times and blobs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Float, LargeBinary, MetaData
from sqlalchemy.orm import DeclarativeBase

CONSTRAINT_NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """The base of all tables. Times are Unix seconds as floats, as logs have them, on every database."""

    metadata = MetaData(naming_convention=CONSTRAINT_NAMES)
    type_annotation_map = {  # noqa: RUF012
        dict[str, Any]: JSON,
        list[Any]: JSON,
        float: Float(53),
        bytes: LargeBinary,
    }
