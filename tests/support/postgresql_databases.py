"""Migrated, empty databases of a PostgreSQL server, each used by one test after the other.

Emptying what a test has used takes a fifth of the time of copying a template, which has hundreds of files.
"""

from __future__ import annotations

from uuid import uuid4

import psycopg

from tests.support.postgresql import Postgres

_CATALOGS = (
    "pg_attrdef", "pg_attribute", "pg_class", "pg_constraint", "pg_extension", "pg_index", "pg_namespace",
    "pg_proc", "pg_trigger", "pg_type",
)  # fmt: skip
_SCHEMA = " UNION ALL ".join(
    (
        *(f"SELECT '{name}', count(*), max(xmin::text::bigint)::text FROM {name}" for name in _CATALOGS),
        "SELECT 'version', count(*), max(version_num) FROM alembic_version",
        "SELECT 'settings', count(*), NULL FROM pg_db_role_setting"
        " JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database()",
    )
)
"""What differs after any change of the schema: how many rows each catalog has, and its last transaction."""
_USED = """
    SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    AND relname <> 'alembic_version' AND pg_relation_size(oid) > 0
"""
"""The tables that had rows: a file stays when they are deleted or rolled back."""
_RESET = """
    SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE last_value IS NOT NULL
"""

Schema = list[tuple[object, ...]]


class Databases:
    """Copies of a template that are emptied after use; those whose schema was changed are dropped."""

    def __init__(self, cluster: Postgres, template: str) -> None:
        self._cluster, self._template = cluster, template
        with cluster.connection(template) as connection:
            self._copied = _schema(connection)
        self._free: list[str] = []
        self._schemas: dict[str, Schema] = {}

    def take(self) -> str:
        """The name of an empty database, which no earlier test knew."""
        if self._free:
            return self._free.pop()
        name = _new_name()
        with self._cluster.connection() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        self._schemas[name] = self._copied
        return name

    def give_back(self, name: str) -> None:
        """Empty a database for another test, or drop it. Its sessions end."""
        schema = self._schemas.pop(name)
        try:
            name = self._rename(name)
            is_empty = self._empty(name, schema)
        except psycopg.Error:  # it refuses connections, or others connect again and again
            is_empty = False
        if is_empty:
            self._free.append(name)
            return
        with self._cluster.connection() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _rename(self, name: str) -> str:
        """Give a database another name, so that nothing left over from a test finds it again."""
        renamed = _new_name()
        with self._cluster.connection() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            connection.execute(f"ALTER DATABASE {name} RENAME TO {renamed}")
        return renamed

    def _empty(self, name: str, schema: Schema) -> bool:
        """Remove all rows, unless the schema has changed. Returns whether it was as expected."""
        with self._cluster.connection(name) as connection:
            if _schema(connection) != schema:
                return False
            used = [table for (table,) in connection.execute(_USED)]
            if used:
                connection.execute(f"TRUNCATE {', '.join(used)} CASCADE")
            connection.execute(_RESET)
            self._schemas[name] = _schema(connection)
        return True


def _new_name() -> str:
    return f"test_{uuid4().hex}"


def _schema(connection: psycopg.Connection) -> Schema:
    """What is compared to notice a change of the schema. Emptying a table changes it, too."""
    return connection.execute(_SCHEMA).fetchall()
