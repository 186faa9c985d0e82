"""The names of how fast a program is: rates (`images/s`, `fps`) and times (`sec/it`, `batch_time`).

Patterns of a name in lower case with underscores, behind any folders.
"""

from __future__ import annotations

_COUNTED = (
    r"(tokens?|tok|samples?|steps?|batch(es)?|iter(ation)?s?|its?|updates?|examples?|ex|words?|sent(ence)?s?|"
    r"seq(uence)?s?|images?|imgs?|frames?|graphs?|transitions)"
)
"""What a training goes through: its own steps, and the data of these."""
_EACH = r"(_per_|/)(gpu|device)"
_PER_SECOND = r"(_per_|/)(s|sec|second)"
TIME_UNIT = r"(_?(in_)?[(\[]?(ns|us|ms|s|secs?|seconds?|milliseconds?|microseconds?|minutes?)[)\]]?)?"
"""The unit of a time behind its name, in brackets or not: `step_time (ms)`."""

RATES = (
    rf"(\w*_)?{_COUNTED}{_PER_SECOND}({_EACH})?",
    r"tokens/train_per_sec_per_gpu",
    rf"(\w*_)?tflops?({_PER_SECOND})?({_EACH})?({_PER_SECOND})?",
    r"per_device_tflops_per_sec",
    r"throughput(\(tps\)|_per_gpu.*)?",
    r"train_speed.*",
    r"tps|wps|fps|sps|ups|ips",
)
"""What is higher for a faster training. `fps`, `sps`, `ups` and `ips` are frames, steps, updates and items
or images per second, as programs of reinforcement learning, fairseq and Paddle call them."""
TIMES_OF_STEPS = (
    rf"(train_)?(step|iter|iteration|batch)_?(time|timing|duration){TIME_UNIT}",
    r"elapsed_time_per_iteration.*",
    rf"(time|duration)_per_{_COUNTED}{TIME_UNIT}|step_avg|dt{TIME_UNIT}",
    r"time/(step|iter|iteration|batch)",  # and no `time/iterations`, which are counted
    rf"(ms|s|secs?|seconds?|milliseconds?)(_per_|/){_COUNTED}",
)
"""How long a step takes."""
DURATIONS = (rf"((train(ing)?|epoch|update)_)?(time|duration){TIME_UNIT}",)
"""How long something takes that the name leaves open: a step, an epoch, or all since the beginning."""
