-- include: inbox
-- Texts for a platform that were stored at a given time or earlier and are not being sent now. KEYS[1]: the texts for
-- the platform. ARGV: that time, how many to examine, how many to skip first. Returns how many were examined, then the
-- fields of each text that was found.
local ids = call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[3], 'LIMIT', tonumber(ARGV[5]), tonumber(ARGV[4]))
local found = { #ids }
for _, id in ipairs(ids) do
  local queue = queue_of(id)
  if queue and call('HGET', working_key(queue), 'id') ~= id then
    found[#found + 1] = message_of(queue, id)
  end
end
return found
