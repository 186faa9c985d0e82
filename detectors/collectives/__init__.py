"""What a person asks of collectives: are they as fast as the hardware, what do they cost, who waits?"""

from __future__ import annotations

from holter.detectors.collectives.compare import READS, Comparison, compare
from holter.detectors.collectives.ends import Ends
from holter.detectors.collectives.overlap import Overlap
from holter.detectors.collectives.speed import Speed
from holter.detectors.collectives.waits import Waits

__all__ = ["READS", "Comparison", "Ends", "Overlap", "Speed", "Waits", "compare"]
