-- The limit that is stored for the key takes the place of the rule's. Stored under another algorithm, it may be larger
-- than a log may be long.
limit = math.min(own_limit, 100000)
