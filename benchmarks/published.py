"""Published rules for spikes of the loss, one point at a time as their sources have them, and controls.

None of their code is here; each class says which source, at which version, it does the same as. A rule
sees the loss (and the gradient norm where its source looks at it) of one attempt after the other, and
keeps its memory over a restart only where its source saves it with a checkpoint.
"""

from __future__ import annotations

import math
import random
from collections import deque
from typing import ClassVar, Protocol


class Rule(Protocol):
    """Says of each point whether it is an alarm."""

    name: ClassVar[str]
    source: ClassVar[str]
    saved: ClassVar[bool]
    """Whether its memory outlives a restart."""

    def __init__(self, points: int) -> None:
        """`points`: how many the whole run will have, which some sources ask for."""

    def alarm(self, loss: float, norm: float | None) -> bool:
        """Look at the next point; `norm` is None where the gradient norm is not logged."""
        ...


class Window:
    """The last so many values: their mean and deviation, in constant time, NaN with one of them inside."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.values: deque[float] = deque()
        self._sum = self._squares = 0.0
        self._broken = self._turned = 0

    def __len__(self) -> int:
        return len(self.values)

    def push(self, value: float) -> None:
        self.values.append(value)
        self._count(value, 1)
        if len(self.values) > self.size:
            self._count(self.values.popleft(), -1)
        self._turned += 1
        if self._turned >= self.size:  # sums are taken anew, so that what was large leaves nothing behind
            self._turned = 0
            finite = [one for one in self.values if math.isfinite(one)]
            self._sum, self._squares = math.fsum(finite), math.fsum(one * one for one in finite)

    def _count(self, value: float, sign: int) -> None:
        if math.isfinite(value):
            self._sum += sign * value
            self._squares += sign * value * value
        else:
            self._broken += sign

    @property
    def mean(self) -> float:
        return math.nan if self._broken else self._sum / len(self.values)

    def deviation(self, *, lost: int) -> float:
        """The standard deviation over n - `lost` degrees of freedom."""
        if self._broken:
            return math.nan
        n = len(self.values)
        return math.sqrt(max(self._squares - self._sum * self._sum / n, 0.0) / (n - lost))


class KillLossSpike:
    """More than four losses in a row at twice the mean of a window, or half of a window above a cap.

    The window is a twentieth of the run and at least a hundred points; nothing is said before it is full.
    """

    name = "KillLossSpike"
    source = "llm-foundry 0.22.0.dev0 (8c8dd48), llmfoundry/callbacks/kill_loss_spike_callback.py"
    saved = False

    def __init__(self, points: int) -> None:
        self._window, self._wanted = Window(100), max(100, round(0.05 * points))
        self._outliers = self._step = 0
        self._cap = 10.0

    def alarm(self, loss: float, norm: float | None) -> bool:
        self._step += 1
        window = self._window
        told = False
        if len(window) == window.size:
            if window.size < self._wanted:
                window.size = self._wanted  # and goes on filling
            else:
                if self._step == window.size:
                    self._cap = min(max(window.values), self._cap)
                told = self._is_spike(loss) or self._is_high()
        window.push(loss)
        return told

    def _is_spike(self, loss: float) -> bool:
        if loss >= 2 * self._window.mean:
            self._outliers += 1
            return self._outliers > 4
        self._outliers = 0
        return False

    def _is_high(self) -> bool:
        # where the mean is below half of the cap, fewer than half of losses above zero are above it
        if self._step < 2 * self._window.size or self._window.mean <= self._cap / 2:
            return False
        return sum(one > self._cap for one in self._window.values) >= self._window.size / 2


class SkipStep:
    """A loss or gradient norm more than six deviations above the last 128; from 64 points on.

    What is skipped stays in the window. NaN is skipped, and so is all that follows while it is inside.
    """

    name = "OLMo skip-step"
    source = "OLMo-core 2.5.0 (fa6c501), src/olmo_core/optim/skip_step_optimizer.py"
    saved = False

    def __init__(self, points: int) -> None:
        self._losses, self._norms = Window(128), Window(128)

    def alarm(self, loss: float, norm: float | None) -> bool:
        taken = True
        if len(self._losses) + 1 >= 64:
            taken = self._is_near(loss, self._losses)
            if norm is not None and len(self._norms) > 1:
                taken = taken and self._is_near(norm, self._norms)
        self._losses.push(loss)
        if norm is not None:
            self._norms.push(norm)
        return not taken

    @staticmethod
    def _is_near(value: float, window: Window) -> bool:
        return value - window.mean <= 6 * window.deviation(lost=1)


class StabilityMonitor:
    """A loss or gradient norm more than six deviations above the mean of the last 128, of no fewer."""

    name = "OLMo spike score"
    source = "OLMo-core 2.5.0 (fa6c501), src/olmo_core/train/callbacks/stability_monitor.py"
    saved = True

    def __init__(self, points: int) -> None:
        self._losses, self._norms = Window(128), Window(128)

    def alarm(self, loss: float, norm: float | None) -> bool:
        told = self._is_spike(loss, self._losses)
        self._losses.push(loss)
        if norm is not None:
            told = self._is_spike(norm, self._norms) or told
            self._norms.push(norm)
        return told

    @staticmethod
    def _is_spike(value: float, window: Window) -> bool:
        if len(window) < window.size:
            return False
        deviation = window.deviation(lost=0)
        return not deviation < 1e-10 and value > window.mean + 6 * deviation


class SkipStepOfLoss(SkipStep):
    """The same without the gradient norm, of which the labels of a loss know nothing."""

    name = "OLMo skip-step, loss alone"

    def alarm(self, loss: float, norm: float | None) -> bool:
        return super().alarm(loss, None)


class MonitorOfLoss(StabilityMonitor):
    """The same without the gradient norm."""

    name = "OLMo spike score, loss alone"

    def alarm(self, loss: float, norm: float | None) -> bool:
        return super().alarm(loss, None)


class PaperScore:
    """Seven deviations or more away from the mean of the last thousand, of 128 at least; or not finite."""

    name = "OLMo 2 paper"
    source = "2 OLMo 2 Furious (arXiv 2501.00656), section 3: the spike score"
    saved = True

    def __init__(self, points: int) -> None:
        self._losses = Window(1000)

    def alarm(self, loss: float, norm: float | None) -> bool:
        if not math.isfinite(loss):
            return True
        window = self._losses
        told = len(window) >= 128 and abs(loss - window.mean) >= 7 * max(window.deviation(lost=1), 1e-10)
        window.push(loss)
        return told


class SpikyLoss:
    """Ten times the largest of the first hundred losses; NaN and infinities by a check of their own."""

    name = "Megatron spiky loss"
    source = "Megatron-LM 0.20.0 (d98e8a6), megatron/core/rerun_state_machine.py, pretrain_gpt.py"
    saved = True

    def __init__(self, points: int) -> None:
        self._seen, self._largest = 0, 0.0

    def alarm(self, loss: float, norm: float | None) -> bool:
        if not math.isfinite(loss):
            return True
        if self._seen < 100:
            self._seen += 1
            self._largest = max(self._largest, abs(loss))
            return False
        return abs(loss) >= 10 * self._largest


class SpikeDetection:
    """Worse than the point before, and twice the mean of the last ten away from it; or not finite."""

    name = "Lightning SpikeDetection"
    source = "Lightning 2.6.2 (7f0c343), src/lightning/fabric/utilities/spike.py"
    saved = True

    def __init__(self, points: int) -> None:
        self._window, self._last = Window(10), 0.0

    def alarm(self, loss: float, norm: float | None) -> bool:
        if len(self._window) and self._is_spike(loss):
            return True  # and is not learnt from
        if math.isfinite(loss):
            self._window.push(loss)
            self._last = loss
        return False

    def _is_spike(self, loss: float) -> bool:
        if not math.isfinite(loss):
            return True
        mean = self._window.mean
        return loss > self._last and abs(loss - mean) >= abs(2 * mean)


class Never:
    """A control: says nothing."""

    name = "never"
    source = "a control"
    saved = True

    def __init__(self, points: int) -> None:
        pass

    def alarm(self, loss: float, norm: float | None) -> bool:
        return False


class Always(Never):
    """A control: an alarm every hundred points."""

    name = "always"

    def __init__(self, points: int) -> None:
        self._step = 0

    def alarm(self, loss: float, norm: float | None) -> bool:
        self._step += 1
        return self._step % 101 == 1


class Random(Never):
    """A control: an alarm in a thousand points, by lot."""

    name = "random"

    def __init__(self, points: int) -> None:
        self._lots = random.Random(points)

    def alarm(self, loss: float, norm: float | None) -> bool:
        return self._lots.random() < 1e-3


RULES: tuple[type[Rule], ...] = (
    KillLossSpike,
    SkipStep,
    SkipStepOfLoss,
    StabilityMonitor,
    MonitorOfLoss,
    PaperScore,
    SpikyLoss,
    SpikeDetection,
    Random,
    Never,
    Always,
)
