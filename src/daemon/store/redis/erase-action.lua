-- include: actions
-- Deletes an action from all indexes, and also the entries of expired actions in those indexes.
-- KEYS[1]: the action. ARGV: id.
local id = ARGV[3]
local found = call('HMGET', KEYS[1], 'turn_key', 'person', 'user')
end_waiting(id)
call('DEL', KEYS[1])
local indexes = { ALL_ACTIONS, action_index('turn', found[1] or '') }
if found[2] then
  indexes[#indexes + 1] = action_index('person', found[2])
end
if found[3] then
  indexes[#indexes + 1] = action_index('user', found[3])
end
for place, at in ipairs(indexes) do
  call('ZREM', at, id)
  if place > 1 then
    for _, other in ipairs(call('ZRANGE', at, 0, -1)) do
      if not alive(action_key(other)) then
        call('ZREM', at, other)
      end
    end
  end
end
return 1
