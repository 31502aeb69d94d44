    if has_summary then header = string.sub(state, -HEADER) end
