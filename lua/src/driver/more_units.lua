-- Admits further callers, up to UNITS, where all that is counted is whole: as many as there is room for.
callers = math.min(units, math.floor(capacity / cost))
amount = cost * callers
