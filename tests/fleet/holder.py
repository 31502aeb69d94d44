"""Makes one call about a reservation, and prints its answer: a text, or a whole number. See the README."""

import sys
from pathlib import Path

from sluicegate import RateLimiter

URL, RULES, PREFIX, CALL, *REST = sys.argv[1:]

with RateLimiter(URL, rules=Path(RULES), prefix=PREFIX) as limiter:
    if CALL == "reserve":
        answer = limiter.reserve("held", "key", cost=int(REST[0])).id
    elif CALL == "peek":
        answer = limiter.peek("held", "key").remaining
    elif CALL == "commit":
        answer = int(limiter.commit(REST[0], int(REST[1])))
    else:
        answer = int(getattr(limiter, CALL)(REST[0]))
    print(answer)
