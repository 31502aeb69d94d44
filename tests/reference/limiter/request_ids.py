"""Calls that may be repeated: the first with an id decides, later ones get its answer.

Where section 11 of the contract leaves a choice:

- The whole answer is that of the first call, its waits too: they count from the first call's time.
- A denial is an answer like any other. An error is none: the call that follows it with the same id is the first.
- A repeat changes nothing at all. It neither begins a block nor prolongs the time for which the answer is kept, and a
  stored limit that has changed since does not show.
- The id belongs to who is counted: rule, key and, where the rule has one, resource, since the answer is stored in the
  slot of the resource. A `check_all` shares the ids of its first item with calls about that item alone, and is another
  operation than they are; other items than before are another call too.
- The answer is kept while `now < time of the first call + request_id_seconds`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import InvalidArgument
from .items import Charge, joined

REQUEST_ID_SECONDS = 60
MOST_BYTES = 64


class KeptAnswer(NamedTuple):
    call: tuple
    """The operation, and what it was asked for."""

    answer: Any
    until: int


class RequestIds:
    """The part of a limiter that answers repeated calls."""

    def _once(self, now: int, request_id: str | None, op: str, charges: list[Charge], decide: Callable[[], Any]) -> Any:
        if request_id is None:
            return decide()
        if not 1 <= len(request_id.encode()) <= MOST_BYTES:
            raise InvalidArgument("request id empty or too long")
        first = charges[0].item
        place = (first.rule, first.resource, joined(first.key), request_id)
        call = (op, tuple(map(asked, charges)))
        kept = self.store.answers.get(place)
        length = REQUEST_ID_SECONDS * 1_000_000
        if kept is not None and now < kept.until:
            # One of the future is one that was given now.
            self.store.answers[place] = kept._replace(until=min(kept.until, now + length))
            if kept.call != call:
                raise InvalidArgument("the request id of another call")
            return kept.answer
        answer = decide()
        self.store.answers[place] = KeptAnswer(call, answer, now + length)
        return answer


def asked(charge: Charge) -> tuple:
    item = charge.item
    return item.rule, joined(item.key), item.cost, item.resource, item.limit
