"""What a person asks of collectives: are they as fast as the hardware, what do they cost, who waits?"""

from __future__ import annotations

from holter.detectors.communication.bandwidth import Speed
from holter.detectors.communication.compare import READS, Comparison, compare
from holter.detectors.communication.last_calls import Ends
from holter.detectors.communication.overlap import Overlap
from holter.detectors.communication.wait_time import Waits

__all__ = ["READS", "Comparison", "Ends", "Overlap", "Speed", "Waits", "compare"]
