"""Write the runs as event files, with their settings for the HParams plug-in. Usage: RUNS FOLDER."""

import json
import sys

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.plugins.scalar import metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def scalar(tag, value):
    """A scalar as the summary writers of TensorFlow 2 and PyTorch leave it to the plug-in."""
    tensor = TensorProto(dtype=DT_FLOAT, tensor_shape=TensorShapeProto(), float_val=[value])
    kind = metadata.create_summary_metadata(display_name="", description="")
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=kind)])


def main():
    """One folder for each run.

    The settings of the experiment are not declared: TensorBoard then finds their types, ranges and which
    of them differ in the runs, and shows those first.
    """
    file, folder = sys.argv[1:]
    with open(file) as opened:
        runs = json.load(opened)
    for run in runs:
        writer = EventFileWriter(f"{folder}/{run['name']}")
        start = hparams.hparams_pb(run["settings"], trial_id=run["name"], start_time_secs=run["times"][0])
        writer.add_event(event_pb2.Event(wall_time=run["times"][0], summary=start))
        for step, tokens, loss, time in zip(
            run["steps"], run["tokens"], run["losses"], run["times"], strict=True
        ):
            for tag, value in (("loss", loss), ("tokens", float(tokens))):
                writer.add_event(event_pb2.Event(wall_time=time, step=step, summary=scalar(tag, value)))
        writer.close()


main()
