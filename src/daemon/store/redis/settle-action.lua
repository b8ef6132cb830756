-- include: claims sessions actions
-- Settles a pending action under the claim of its session. KEYS[1]: the claim. ARGV: tag, owner, id, `started`,
-- `declined` or `withdrawn`, key of the turn that settles it. Returns `settled`, `gone` or `lost`.
if not claim_held(KEYS[1], ARGV[4]) then
  return 'lost'
end
local id, to, turn = ARGV[5], ARGV[6], ARGV[7]
local at = action_key(id)
if not action_waits(id) or call('HGET', at, 'session_tag') ~= ARGV[3] or not find_session(ARGV[3]) then
  return 'gone'
end
end_waiting(id)
local number = call('HGET', at, 'number')
call('ZREM', action_index('turn', call('HGET', at, 'turn_key')), id)
add_to_index(action_index('turn', turn), number, id)
call('HSET', at, 'state', to, 'turn_key', turn)
if to == 'started' then
  call('HSET', at, 'attempt', 1, 'started_at', now)
else
  call('HSET', at, 'finished_at', now)
end
return 'settled'
