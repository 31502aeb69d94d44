"""Scenarios of spending from what was lent."""

from .scenario import MS, S, Scenario, deposit, item, rule, spend, together

# 400 calls in 100 ms: the rate is 200 units in a second, since it is taken over two.
BUSY = [spend(call * 250) for call in range(400)]

SCENARIOS = [
    Scenario(
        "spent/slow",
        "a key of fewer than ten units in the age of a loan is decided by the region in charge, and nothing is borrowed",
        [spend(call * 200 * MS) for call in range(8)],
        rule(),
    ),
    Scenario(
        "spent/borrows",
        "a busy key borrows what it needs in four round trips and 50 ms, once in 20 ms: 8 ms are in between",
        [spend(call * 8 * MS, 3) for call in range(14)],
        rule(),
    ),
    Scenario(
        "spent/far",
        "where four round trips are more than the age of a loan, nothing is lent",
        [spend(call * MS, 5, 201 * MS) for call in range(20)],
        rule(),
    ),
    Scenario(
        "spent/spends",
        "units are spent near until they are used up; what is left is less than the cost: the region in charge decides",
        [deposit(0, 10), *(spend(MS + call, 3) for call in range(4)), spend(2 * MS, 1), spend(2 * MS, 1)],
        rule(),
    ),
    Scenario(
        "spent/ends",
        "a loan ends: its units are not spent any more, and are answered once, to be given back",
        [deposit(0, 10), spend(799_999, 4), spend(800_000, 4), spend(800_001, 4)],
        rule(),
    ),
    Scenario(
        "spent/late",
        "a loan that arrives when it has ended is dropped whole",
        [deposit(0, 10, lasts=0), spend(1), deposit(2, 7, lasts=-5), deposit(3, 7, lasts=1), spend(3)],
        rule(),
    ),
    Scenario(
        "spent/merged",
        "loans that end within an eighth of the age are one, which ends with the first of them",
        [deposit(0, 4), deposit(99_999, 5), deposit(199_999, 6), spend(799_999, 8), spend(800_000, 8), spend(999_999, 8)],
        rule(),
    ),
    Scenario(
        "spent/sixteen",
        "of more than sixteen loans the newest are one",
        [*(deposit(call * 101 * MS, 2, lasts=5 * S) for call in range(18)), spend(2 * S, 30), spend(6_600 * MS, 1), spend(8 * S, 1)],
        rule(),
    ),
    Scenario(
        "spent/denied",
        "what the region in charge has denied is denied near, for costs as large, until it need not be believed any more",
        [
            deposit(0, denied=(2, 300 * MS, 500 * MS)),
            spend(MS, 1), spend(MS, 2), spend(299_999, 3), spend(300_000, 2),
        ],
        rule(),
    ),
    Scenario(
        "spent/denied-one",
        "while a single unit is denied, a busy key borrows nothing",
        [*BUSY[::20], deposit(101 * MS, denied=(1, 300 * MS, 350 * MS)), spend(130 * MS, 90), spend(402 * MS, 90)],
        rule(),
    ),
    Scenario(
        "spent/contended",
        "less was lent than was asked for: small portions, denials in between, and the region in charge decides what is larger",
        [
            *BUSY[::2], deposit(101 * MS, 3, contended=S),
            spend(130 * MS, 2), spend(131 * MS, 2), spend(132 * MS, 1), spend(151 * MS, 1), spend(152 * MS, 7), spend(1_200 * MS, 1),
        ],
        rule(),
    ),
    Scenario(
        "spent/never-fits",
        "a cost that never fits says no more of what is needed than the most that does",
        [spend(0, 5_000), spend(21 * MS, 1)],
        rule(burst=111),
    ),
    Scenario(
        "spent/clock-back",
        "after a step of the clock back no loan and no denial lasts longer than it may, and the rate begins anew",
        [
            *BUSY[::20], deposit(101 * MS, 9), deposit(102 * MS, denied=(5, 300 * MS, 900 * MS)),
            spend(-10 * S, 6), spend(-10 * S, 6), spend(-10 * S + 800_999, 3), spend(-10 * S + 801_000, 6),
        ],
        rule(),
    ),
    Scenario(
        "spent/quarters",
        "the rate is of the quarter under way, the three before, and of the part of the one before them that lies in the span",
        [spend(at * MS, 40) for at in (0, 400, 600, 1_100, 1_600, 1_999, 2_050, 2_301, 2_777, 4_400, 9_000)],
        rule(),
    ),
    Scenario(
        "spent/together",
        "two allotments and other limits are spent from together, or not at all",
        [
            deposit(0, 10),
            together(MS, item(2), others_fit=True), together(2 * MS, item(2), others_fit=False), together(3 * MS, item(9)),
            together(4 * MS, item(3), item(1, key="bob")),
            together(5 * MS, item(3), item(1, True, key="bob")), together(6 * MS, item(3), item(1, False, key="bob")),
            together(7 * MS, item(3, True), item(1, True, key="bob"), others_fit=False), spend(8 * MS, 5), spend(9 * MS, 1),
        ],
        rule(),
    ),
]  # fmt: skip
