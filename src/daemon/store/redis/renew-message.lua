-- include: inbox
-- Extends the claim to a message. KEYS[1]: the claim of the queue. ARGV: queue, id, owner. Returns 1, or 0 if the claim
-- is lost.
if not message_held(ARGV[3], ARGV[4], ARGV[5]) then
  return 0
end
call('HSET', KEYS[1], 'until', now + CLAIM_MS)
index_queue(ARGV[3])
return 1
