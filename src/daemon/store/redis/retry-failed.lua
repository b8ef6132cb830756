-- include: inbox
-- Restarts failed messages. KEYS[1]: the failed messages. ARGV: the earliest time of failure, platform (empty: all).
-- Returns the number and the id of each, oldest first.
local found = {}
for _, id in ipairs(call('ZRANGEBYSCORE', KEYS[1], ARGV[3], '+inf')) do
  local queue = queue_of(id)
  local platform = queue and call('HGET', message_key(queue, id), 'platform')
  if platform and (ARGV[4] == '' or platform == ARGV[4]) then
    found[#found + 1] = { id = id, queue = queue, number = tonumber(call('ZSCORE', inbox('all'), id)) }
  end
end
table.sort(found, function(a, b)
  return a.number < b.number
end)
local ids = {}
for place, message in ipairs(found) do
  retry_message(message.queue, message.id)
  ids[2 * place - 1], ids[2 * place] = message.number, message.id
end
return ids
