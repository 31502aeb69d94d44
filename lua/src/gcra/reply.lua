-- Answers with the grant, now, and the debt as loaded.
return pack('<ddd', grant, now, debt)
