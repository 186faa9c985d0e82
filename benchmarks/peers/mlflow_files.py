"""mlflow with a folder of text files, which it keeps only when asked to."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

from peers.mlflow_sqlite import Peer as Sqlite


class Peer(Sqlite):
    """The same calls, another store."""

    def address(self, folder: Path) -> str:
        """Where the store is."""
        return (folder / "mlruns").as_uri()
