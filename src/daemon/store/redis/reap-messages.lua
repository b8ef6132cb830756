-- include: inbox
-- Ends claims that have expired; their messages count as interrupted. KEYS[1]: the claimed queues. ARGV: the maximum
-- number of claims. Returns the number of claims.
-- If the clock was set back, claims must not be valid for longer than CLAIM_MS.
for _, queue in ipairs(call('ZRANGEBYSCORE', KEYS[1], now + CLAIM_MS + 1, '+inf')) do
  call('HSET', working_key(queue), 'until', now + CLAIM_MS)
  index_queue(queue)
end
local dead = call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))
for _, queue in ipairs(dead) do
  local id = call('HGET', working_key(queue), 'id')
  local at = message_key(queue, id)
  call('HINCRBY', at, 'interrupted', 1)
  if call('HGET', at, 'state') == 'running' then
    call('HSET', at, 'state', 'waiting')
    index_state(queue, id)
  end
  end_message_claim(queue)
  index_queue(queue)
end
return #dead
