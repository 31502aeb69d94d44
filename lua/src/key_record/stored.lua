-- The limit that is stored for the key takes the place of the rule's.
limit = own_limit
