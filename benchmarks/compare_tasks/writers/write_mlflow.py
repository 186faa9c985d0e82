"""Write the runs into the store of a tracking server. Usage: RUNS URI."""

import json
import sys

from mlflow import MlflowClient
from mlflow.entities import Metric, Param


def main():
    """One run for each, in one experiment."""
    file, uri = sys.argv[1:]
    with open(file) as opened:
        runs = json.load(opened)
    client = MlflowClient(uri)
    experiment = client.create_experiment("llm")
    for run in runs:
        start = int(1000 * run["times"][0])
        created = client.create_run(experiment, start_time=start, run_name=run["name"])
        rows = list(zip(run["steps"], run["tokens"], run["losses"], run["times"], strict=True))
        metrics = [Metric("loss", loss, int(1000 * time), step) for step, _, loss, time in rows]
        metrics += [Metric("tokens", float(tokens), int(1000 * time), step) for step, tokens, _, time in rows]
        params = [Param(name, str(value)) for name, value in run["settings"].items()]
        client.log_batch(created.info.run_id, metrics=metrics, params=params)
        client.set_terminated(created.info.run_id, end_time=int(1000 * run["times"][-1]))


main()
