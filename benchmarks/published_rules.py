"""Published rules for spikes of the loss, reimplemented point by point, and controls.

None of the original code is included; each class names the source, at a version, that it is equivalent to. A
rule receives the loss (and the gradient norm if its source uses it) of one attempt after the other, and
retains its state over a restart only if its source saves the state with a checkpoint.
"""

from __future__ import annotations

import math
import random
from collections import deque
from typing import ClassVar, Protocol


class Rule(Protocol):
    """Decides for each point whether it is an alarm."""

    name: ClassVar[str]
    source: ClassVar[str]
    is_state_saved: ClassVar[bool]
    """Whether the state survives a restart."""

    def __init__(self, points: int) -> None:
        """`points`: the number of points of the complete run, which some sources need."""

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        """Process the next point; `norm` is None if the gradient norm is not logged."""
        ...


class SlidingWindow:
    """The last `size` values: mean and deviation in constant time, NaN while a value is not finite."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.values: deque[float] = deque()
        self._sum = self._squares = 0.0
        self._nonfinite = self._since_resum = 0

    def __len__(self) -> int:
        return len(self.values)

    def push(self, value: float) -> None:
        self.values.append(value)
        self._count(value, 1)
        if len(self.values) > self.size:
            self._count(self.values.popleft(), -1)
        self._since_resum += 1
        if self._since_resum >= self.size:  # computed anew: large values leave no rounding error
            self._since_resum = 0
            finite = [value for value in self.values if math.isfinite(value)]
            self._sum, self._squares = math.fsum(finite), math.fsum(value * value for value in finite)

    def _count(self, value: float, sign: int) -> None:
        if math.isfinite(value):
            self._sum += sign * value
            self._squares += sign * value * value
        else:
            self._nonfinite += sign

    @property
    def mean(self) -> float:
        return math.nan if self._nonfinite else self._sum / len(self.values)

    def deviation(self, *, ddof: int) -> float:
        """The standard deviation with n - `ddof` degrees of freedom."""
        if self._nonfinite:
            return math.nan
        n = len(self.values)
        return math.sqrt(max(self._squares - self._sum * self._sum / n, 0.0) / (n - ddof))


class KillLossSpike:
    """More than four consecutive losses of twice the mean of a window, or half of a window above a cap.

    The window is a twentieth of the run and at least a hundred points; there is no alarm before it is full.
    """

    name = "KillLossSpike"
    source = "llm-foundry 0.22.0.dev0 (8c8dd48), llmfoundry/callbacks/kill_loss_spike_callback.py"
    is_state_saved = False

    def __init__(self, points: int) -> None:
        self._window, self._full_size = SlidingWindow(100), max(100, round(0.05 * points))
        self._outliers = self._step = 0
        self._cap = 10.0

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        self._step += 1
        window = self._window
        is_alarm = False
        if len(window) == window.size:
            if window.size < self._full_size:
                window.size = self._full_size  # and continues to fill
            else:
                if self._step == window.size:
                    self._cap = min(max(window.values), self._cap)
                is_alarm = self._is_spike(loss) or self._is_high()
        window.push(loss)
        return is_alarm

    def _is_spike(self, loss: float) -> bool:
        if loss >= 2 * self._window.mean:
            self._outliers += 1
            return self._outliers > 4
        self._outliers = 0
        return False

    def _is_high(self) -> bool:
        # with a mean below half of the cap, fewer than half of the (positive) losses are above the cap
        if self._step < 2 * self._window.size or self._window.mean <= self._cap / 2:
            return False
        return sum(value > self._cap for value in self._window.values) >= self._window.size / 2


class SkipStep:
    """A loss or gradient norm more than six deviations above the mean of the last 128; from 64 points on.

    Skipped values stay in the window. NaN is skipped, and so are all values while it is in the window.
    """

    name = "OLMo skip-step"
    source = "OLMo-core 2.5.0 (fa6c501), src/olmo_core/optim/skip_step_optimizer.py"
    is_state_saved = False

    def __init__(self, points: int) -> None:
        self._losses, self._norms = SlidingWindow(128), SlidingWindow(128)

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        is_accepted = True
        if len(self._losses) + 1 >= 64:
            is_accepted = self._is_near(loss, self._losses)
            if norm is not None and len(self._norms) > 1:
                is_accepted = is_accepted and self._is_near(norm, self._norms)
        self._losses.push(loss)
        if norm is not None:
            self._norms.push(norm)
        return not is_accepted

    @staticmethod
    def _is_near(value: float, window: SlidingWindow) -> bool:
        return value - window.mean <= 6 * window.deviation(ddof=1)


class StabilityMonitor:
    """A loss or gradient norm more than six deviations above the mean of a full window of 128."""

    name = "OLMo spike score"
    source = "OLMo-core 2.5.0 (fa6c501), src/olmo_core/train/callbacks/stability_monitor.py"
    is_state_saved = True

    def __init__(self, points: int) -> None:
        self._losses, self._norms = SlidingWindow(128), SlidingWindow(128)

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        is_alarm = self._is_spike(loss, self._losses)
        self._losses.push(loss)
        if norm is not None:
            is_alarm = self._is_spike(norm, self._norms) or is_alarm
            self._norms.push(norm)
        return is_alarm

    @staticmethod
    def _is_spike(value: float, window: SlidingWindow) -> bool:
        if len(window) < window.size:
            return False
        deviation = window.deviation(ddof=0)
        return not deviation < 1e-10 and value > window.mean + 6 * deviation


class LossSkipStep(SkipStep):
    """SkipStep without the gradient norm: the labels of losses do not cover it."""

    name = "OLMo skip-step, loss alone"

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        return super().is_alarm(loss, None)


class LossStabilityMonitor(StabilityMonitor):
    """StabilityMonitor without the gradient norm."""

    name = "OLMo spike score, loss alone"

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        return super().is_alarm(loss, None)


class PaperSpikeScore:
    """At least seven deviations from the mean of the last thousand losses (128 or more); or not finite."""

    name = "OLMo 2 paper"
    source = "2 OLMo 2 Furious (arXiv 2501.00656), section 3: the spike score"
    is_state_saved = True

    def __init__(self, points: int) -> None:
        self._losses = SlidingWindow(1000)

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        if not math.isfinite(loss):
            return True
        window = self._losses
        is_alarm = len(window) >= 128 and abs(loss - window.mean) >= 7 * max(window.deviation(ddof=1), 1e-10)
        window.push(loss)
        return is_alarm


class SpikyLoss:
    """Ten times the largest of the first hundred losses; NaN and infinities by a separate check."""

    name = "Megatron spiky loss"
    source = "Megatron-LM 0.20.0 (d98e8a6), megatron/core/rerun_state_machine.py, pretrain_gpt.py"
    is_state_saved = True

    def __init__(self, points: int) -> None:
        self._seen, self._largest = 0, 0.0

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        if not math.isfinite(loss):
            return True
        if self._seen < 100:
            self._seen += 1
            self._largest = max(self._largest, abs(loss))
            return False
        return abs(loss) >= 10 * self._largest


class SpikeDetection:
    """Above the previous loss, and away from the mean of the last ten by twice that mean; or not finite."""

    name = "Lightning SpikeDetection"
    source = "Lightning 2.6.2 (7f0c343), src/lightning/fabric/utilities/spike.py"
    is_state_saved = True

    def __init__(self, points: int) -> None:
        self._window, self._previous = SlidingWindow(10), 0.0

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        if len(self._window) and self._is_spike(loss):
            return True  # and is not added to the window
        if math.isfinite(loss):
            self._window.push(loss)
            self._previous = loss
        return False

    def _is_spike(self, loss: float) -> bool:
        if not math.isfinite(loss):
            return True
        mean = self._window.mean
        return loss > self._previous and abs(loss - mean) >= abs(2 * mean)


class NeverAlarm:
    """A control: no alarms."""

    name = "never"
    source = "a control"
    is_state_saved = True

    def __init__(self, points: int) -> None:
        pass

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        return False


class RegularAlarm(NeverAlarm):
    """A control: an alarm every hundred points."""

    name = "always"

    def __init__(self, points: int) -> None:
        self._step = 0

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        self._step += 1
        return self._step % 101 == 1


class RandomAlarm(NeverAlarm):
    """A control: an alarm at a random point in a thousand."""

    name = "random"

    def __init__(self, points: int) -> None:
        self._random = random.Random(points)

    def is_alarm(self, loss: float, norm: float | None) -> bool:
        return self._random.random() < 1e-3


RULES: tuple[type[Rule], ...] = (
    KillLossSpike,
    SkipStep,
    LossSkipStep,
    StabilityMonitor,
    LossStabilityMonitor,
    PaperSpikeScore,
    SpikyLoss,
    SpikeDetection,
)
CONTROLS: tuple[type[Rule], ...] = (RandomAlarm, NeverAlarm, RegularAlarm)
