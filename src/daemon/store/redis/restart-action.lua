-- include: claims actions keys
-- Records that a write is about to be sent again. KEYS[1]: the action. ARGV: id, number of the last attempt, JSON of
-- the claims as in start-action.lua. Returns `started`, `gone` or `lost`.
local id, claims = ARGV[3], ARGV[5] ~= '' and cjson.decode(ARGV[5])
if claims and (not claim_held(key('session', claims.tag, 'claim'), claims.owner)
  or (claims.key and not claim_held(key_claim(claims.key), claims.key_owner))) then
  return 'lost'
end
if not alive(KEYS[1]) or call('HGET', KEYS[1], 'attempt') ~= ARGV[4] or not action_uncertain(id) then
  return 'gone'
end
call('HSET', KEYS[1], 'state', 'started', 'started_at', now)
call('HINCRBY', KEYS[1], 'attempt', 1)
call('HDEL', KEYS[1], 'status', 'answer', 'finished_at')
return 'started'
