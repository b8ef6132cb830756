-- include: streams
-- Ends running streams without a valid claim. KEYS[1]: the running streams. ARGV: name of the event that ends them, its
-- data, the process that need not be notified, the maximum number. Returns the id of each stream and the number of its
-- last event.
-- If the clock was set back, claims must not be valid for longer than CLAIM_MS.
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
