"""Write the runs with trackio's client; its folder is TRACKIO_DIR. Usage: RUNS."""

import json
import sys

import trackio


def main():
    """One run for each, in one project."""
    with open(sys.argv[1]) as opened:
        runs = json.load(opened)
    for run in runs:
        trackio.init(project="llm", name=run["name"], config=run["settings"], embed=False, auto_log_gpu=False)
        for step, tokens, loss in zip(run["steps"], run["tokens"], run["losses"], strict=True):
            trackio.log({"loss": loss, "tokens": tokens}, step=step)
        trackio.finish()


main()
