-- What a step of the clock back has healed is written, whatever the call then answers.
for s = 1, #key_records do
  if key_records[s].is_healed then write_block(key_records[s], false) end
end
