-- include: actions
-- Actions by their ids, or those of an index. KEYS[1]: the index, or the action. ARGV: `turn`, or the ids.
-- Returns the time, then the fields of each that was found; of a turn, those that never waited or do not wait any more.
local found = { now }
if ARGV[3] == 'turn' then
  for _, id in ipairs(call('ZRANGE', KEYS[1], 0, -1)) do
    if alive(action_key(id)) and call('HGET', action_key(id), 'state') ~= 'pending' then
      found[#found + 1] = action_of(id)
    end
  end
  return found
end
for place = 4, #ARGV do
  if alive(action_key(ARGV[place])) then
    found[#found + 1] = action_of(ARGV[place])
  end
end
return found
