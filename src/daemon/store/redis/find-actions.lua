-- include: actions
-- Actions by their ids, or those of an index. KEYS[1]: the index, or the action. ARGV: `turn`, or the ids.
-- Returns the time, then the fields of each that was found; of a turn, those that do not wait for confirmation.
if ARGV[3] == 'turn' then
  return { now, unpack(actions_of_turn(KEYS[1])) }
end
local found = { now }
for place = 4, #ARGV do
  if alive(action_key(ARGV[place])) then
    found[#found + 1] = action_of(ARGV[place])
  end
end
return found
