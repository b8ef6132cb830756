-- include: claims actions keys
-- Records that a write is about to be sent. KEYS[1]: the action. ARGV: id, its fields as JSON, JSON of the claims:
-- `tag` and `owner` of the session, `key` and `key_owner` of the idempotency key (empty if no claim is needed).
-- Returns `started`, `lost`, or the time and the fields of the action that has the id.
local id, claims = ARGV[3], ARGV[5] ~= '' and cjson.decode(ARGV[5])
if claims and (not claim_held(key('session', claims.tag, 'claim'), claims.owner)
  or (claims.key and not claim_held(key_claim(claims.key), claims.key_owner))) then
  return 'lost'
end
if alive(KEYS[1]) then
  return { now, action_of(id) }
end
store_action(id, cjson.decode(ARGV[4]), { 'state', 'started', 'attempt', 1, 'started_at', now })
return 'started'
