-- include: inbox
-- Texts of a platform that were stored at a time or before and that nobody is sending. KEYS[1]: the texts of the
-- platform. ARGV: that time, how many to look at, from which place on. Returns how many were looked at, then the fields of
-- each.
local ids = call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[3], 'LIMIT', tonumber(ARGV[5]), tonumber(ARGV[4]))
local found = { #ids }
for _, id in ipairs(ids) do
  local queue = queue_of(id)
  if queue and call('HGET', working_key(queue), 'id') ~= id then
    found[#found + 1] = message_of(queue, id)
  end
end
return found
