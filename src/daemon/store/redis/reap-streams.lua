-- include: streams
-- Ends running streams without a valid claim. KEYS[1]: those that run. ARGV: name of the event that ends them, its data,
-- who need not be woken, how many at most. Returns id and number of that event for each.
-- If the clock was set back, no claim is valid for longer than any is.
for _, id in ipairs(call('ZRANGEBYSCORE', RUNNING, now + CLAIM_MS + 1, '+inf')) do
  call('ZADD', RUNNING, now + CLAIM_MS, id)
end
local ended = {}
for _, id in ipairs(call('ZRANGEBYSCORE', RUNNING, '-inf', now, 'LIMIT', 0, tonumber(ARGV[6]))) do
  if stream_state(id) == 'running' then
    local last = tonumber(call('HGET', stream_key(id), 'last')) + 1
    local event = cjson.encode({ id = last, event = ARGV[3], data = ARGV[4] })
    append_events(id, { event }, ARGV[3], ARGV[5])
    ended[#ended + 1] = id
    ended[#ended + 1] = last
  else
    call('ZREM', RUNNING, id)
  end
end
return ended
