-- include: claims sessions
-- Deletes a session with everything that ends with it, and the claim of the erasure. KEYS[1]: the session. ARGV: tag,
-- owner of the claim, id and number of turns of the session as it was read. Returns 1, or 0 if the claim is lost or the
-- session has changed since it was read: it may have new records that were not erased.
local claim = key('session', ARGV[3], 'claim')
if not claim_held(claim, ARGV[4]) then
  return 0
end
call('DEL', claim)
local found = call('HMGET', KEYS[1], 'session_id', 'turns')
if found[1] and (found[1] ~= ARGV[5] or found[2] ~= ARGV[6]) then
  return 0
end
end_session(ARGV[3])
return 1
