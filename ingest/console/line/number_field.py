"""A number of a line with its name and what the text around it states."""

from __future__ import annotations

from dataclasses import dataclass

from holter.ingest.console.line.line_words import MISSPELT
from holter.translated_words import in_english


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number with its name, if it has one: `marked` by a colon, an equals sign or the like."""

    index: int
    total_index: int
    name: str
    marked: bool
    bracketed: bool
    adjacent: bool
    """Right after the brackets of the number before, as the batch in `Epoch: [0][50]` and `[1/5] #50`."""
    opens_batches: bool
    """A bracket with two numbers, such as a batch and the number of batches, comes next."""
    clean: bool
    """Nothing but the name is between the number and the delimiter before it."""
    before: str
    """The text before the name, without what belongs to the number before."""
    scale: float
    explains: bool
    """It states what the share before it is of: `Acc: 20.000% (2000/10000)`."""
    is_duration: bool
    """A unit of time follows."""
    opens_pair: bool
    """It is the first of two in brackets: `[1,  2000] loss: 2.1`."""
    closes_pair: bool
    """It is the second of them."""
    ends_line: bool
    """Its total ends the line."""
    precedes_loss: bool
    """A loss is right behind it, and its total and a rate if it has them: `val: 5/10, loss: 0.5`."""
    precedes_batch: bool
    """The number of a batch is right behind it: `unet epoch: 3 batch: 20`, `unet epoch: 3 [20/50]`."""
    follows_percent: bool
    """Nothing but spaces is between it and the per cent before it: `8.5% 5000/58874`."""

    @property
    def english(self) -> str:
        """The name in English words, where its words are known, and those that count spelt right."""
        return " ".join(MISSPELT.get(word.lower(), word) for word in in_english(self.name).split())
