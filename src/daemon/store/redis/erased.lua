-- Ids of sessions and turns that were erased, as hashes.

local function erased_key(id)
  return key('erased', redis.sha1hex(id), 'at')
end

local function note_erased(id)
  call('SET', erased_key(id), 1, 'PXAT', now + ERASED_MS)
end

local function was_erased(id)
  return alive(erased_key(id)) and call('EXISTS', erased_key(id)) == 1
end
