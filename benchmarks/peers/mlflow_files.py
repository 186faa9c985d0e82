"""mlflow with its store of text files, which must be enabled by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

from peers.mlflow_sqlite import MlflowSqlitePeer


class MlflowFilesPeer(MlflowSqlitePeer):
    """An mlflow tracking store of text files in a folder."""

    def address(self, folder: Path) -> str:
        """The URI of the store."""
        return (folder / "mlruns").as_uri()

    def compact(self) -> None:
        """Do nothing: text files have no compaction."""
