"""Decisions, and how several figures or parts become one."""

from dataclasses import dataclass, replace

from .algorithm import NEVER


@dataclass(frozen=True)
class Figures:
    """What one limit says about a cost."""

    fits: bool
    limit: int
    remaining: int
    retry_after: int | str
    reset_after: int


@dataclass(frozen=True)
class Decision:
    allowed: bool
    rule: str
    limit: int
    remaining: int
    retry_after: int | str
    reset_after: int
    shadow_denied: bool
    blocked: bool = False

    @property
    def fits(self) -> bool:
        """Whether the limits had room, which a shadow rule does not let show in `allowed`."""
        return self.allowed and not self.shadow_denied

    def as_json(self) -> dict:
        return {
            "allowed": self.allowed,
            "rule": self.rule,
            "limit": self.limit,
            "remaining": self.remaining,
            "retry_after_us": self.retry_after,
            "reset_after_us": self.reset_after,
            "shadow_denied": self.shadow_denied,
        } | ({"blocked": True} if self.blocked else {})


def length(wait: int | str) -> float | int:
    """A wait as something that can be compared: never is longer than all others."""
    return float("inf") if wait == NEVER else wait


def longest(waits: list[int | str]) -> int | str:
    return max(waits, key=length)


def deciding(candidates: list) -> Figures | Decision:
    """The refusing candidate with the longest wait, else the one with the least left. The first wins ties."""
    refusing = [candidate for candidate in candidates if not candidate.fits]
    if refusing:
        return max(refusing, key=lambda candidate: length(candidate.retry_after))
    return min(candidates, key=lambda candidate: candidate.remaining)


def narrowest(candidates: list) -> dict:
    """The figures that hold for all candidates at once."""
    return {
        "remaining": min(candidate.remaining for candidate in candidates),
        "retry_after": longest([candidate.retry_after for candidate in candidates]),
        "reset_after": max(candidate.reset_after for candidate in candidates),
    }


def of_rule(rule_id: str, shadow: bool, limits: list[Figures]) -> Decision:
    """One rule's decision out of what each of its limits says."""
    fits = all(figures.fits for figures in limits)
    return Decision(
        allowed=fits or shadow,
        rule=rule_id,
        limit=deciding(limits).limit,
        shadow_denied=shadow and not fits,
        **narrowest(limits),
    )


def of_all(parts: list[Decision], shadow: list[bool], priority: list[int]) -> Decision:
    """The decision on several rules together. Shadow rules only speak when all are shadow rules."""
    counted = [place for place in range(len(parts)) if not shadow[place]] or range(len(parts))
    in_order = [parts[place] for place in sorted(counted, key=lambda place: priority[place])]
    return replace(
        deciding(in_order),
        allowed=all(part.allowed for part in in_order),
        shadow_denied=any(part.shadow_denied for part in parts),
        **narrowest(in_order),
    )
