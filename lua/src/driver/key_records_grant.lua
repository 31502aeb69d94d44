  local grants = own_grants
