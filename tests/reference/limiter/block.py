"""Blocks: a key that went beyond its limit stays denied for a while, longer each time.

Where section 12 of the contract leaves a choice:

- A block lasts while `now < end`: it denies one microsecond before its end and no longer at it.
- The rule's own limits, without what is held, decide whether a call begins a block. So neither a reserve nor a check
  that would fit but for held weight begins one, and the charge that fills a key up does. `commit` is none of the calls
  that begin a block, not even one that goes beyond what was reserved.
- A denial that begins a block was made by the limit: rules with `count_denied` still count it. Later ones count nothing.
- Only the blocks that a rule begins grow. One by hand lasts for its seconds, whatever `max_seconds` says,
  and takes the place of one that runs, also of a longer one. The next block of the rule is `factor` times longer than
  the rule's last one, counted from when the last block of either kind ended; `unblock` ends a block then and there.
- `reset_after` contains the block that runs, for the key is not as if never seen before its end.
- In shadow a block shows as every denial in shadow does: `shadow_denied`, and the figures of a denial. `blocked` is false.
- With several limits the reported one is that which would be reported without the block.
- The decision on several rules is blocked if the part that decides is.
- After the clock has stepped back a block lasts for its length from now at most.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NamedTuple


class Block(NamedTuple):
    """The last block of a key: the one that runs, or the memory of one that has ended."""

    end: int
    length: int
    """Of this block, in microseconds."""

    grown: int
    """The length of the last one that the rule began, 0 if there was none."""

    def lasts(self, now: int) -> bool:
        return now < self.end

    def healed(self, now: int) -> "Block":
        """Begun now, if it began in the future."""
        return self._replace(end=min(self.end, now + self.length))


@dataclass(frozen=True)
class Blocking:
    """The field `block` of a rule."""

    seconds: int | None = None
    """Microseconds that the first block lasts. None: blocks are made by hand only."""

    factor: Fraction = Fraction(1)
    longest: int = 0
    """`max_seconds`, in microseconds: the longest block, and how long one is remembered after its end."""

    def remembered(self, block: Block | None, now: int) -> bool:
        return block is not None and now < block.end + self.longest

    def begun(self, last: Block | None, now: int) -> Block:
        """The block that the rule begins."""
        length = self.seconds
        if self.remembered(last, now) and last.grown:
            length = min(ceil(last.grown * self.factor), self.longest)
        return Block(now + length, length, length)

    def by_hand(self, last: Block | None, now: int, length: int) -> Block:
        return Block(now + length, length, last.grown if self.remembered(last, now) else 0)
