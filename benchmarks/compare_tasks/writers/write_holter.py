"""Write the runs over HTTP. Usage: RUNS ADDRESS."""

import json
import sys
import urllib.request


def main():
    """One request for each run."""
    file, address = sys.argv[1:]
    with open(file) as opened:
        runs = json.load(opened)
    for run in runs:
        body = {
            "project": "llm",
            "run": run["name"],
            "writer": "compare-tasks",
            "batch_id": run["name"],
            "config": run["settings"],
            "columns": {
                "step": run["steps"],
                "time": run["times"],
                "loss": run["losses"],
                "tokens": run["tokens"],
            },
        }
        request = urllib.request.Request(
            f"{address}/api/v1/ingest", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=60).read()


main()
