-- Answers with the grant, now, and slot and level as stored.
return pack('<dddd', grant, now, stored, kept)
