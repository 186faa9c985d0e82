"""Write the runs into a repository. Usage: RUNS FOLDER."""

import json
import subprocess
import sys
from pathlib import Path

from aim import Repo, Run


def main():
    """One run for each, in one experiment."""
    file, folder = sys.argv[1:]
    with open(file) as opened:
        runs = json.load(opened)
    repository = Repo(folder, init=True)
    for run in runs:
        tracked = Run(
            repo=repository,
            experiment="llm",
            system_tracking_interval=None,
            log_system_params=False,
            capture_terminal_logs=False,
        )
        tracked.name = run["name"]
        for name, value in run["settings"].items():
            tracked[name] = value
        for step, tokens, loss in zip(run["steps"], run["tokens"], run["losses"], strict=True):
            tracked.track({"loss": loss, "tokens": float(tokens)}, step=step)
        tracked.close()
    # a server indexes runs in the background: until then queries leave some out
    aim = Path(sys.executable).with_name("aim")
    subprocess.run([aim, "storage", "--repo", folder, "reindex", "-y"], check=True)


main()
