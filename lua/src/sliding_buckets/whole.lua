-- What takes back reads all pairs, of which `load` may have seen the oldest alone.
if #head == 88 and call('STRLEN', key) % 16 ~= 8 then return { err = BAD_STATE } end
