-- include: actions
-- Records the outcome of an attempt, if `ActionStore.finish` accepts it. KEYS[1]: the action. ARGV: id, attempt, state,
-- status, answer (each of the last two empty if there is none). Returns 1 if it was recorded, else 0.
local id, state = ARGV[3], ARGV[5]
if not alive(KEYS[1]) then
  return 0
end
local found = call('HMGET', KEYS[1], 'state', 'attempt')
local is_late = state == 'done' and (action_uncertain(id) or found[1] == 'failed')
if not is_late and not (found[2] == ARGV[4] and action_uncertain(id)) then
  return 0
end
call('HSET', KEYS[1], 'state', state, 'finished_at', now)
for field, value in pairs({ status = ARGV[6], answer = ARGV[7] }) do
  if value == '' then
    call('HDEL', KEYS[1], field)
  else
    call('HSET', KEYS[1], field, value)
  end
end
return 1
