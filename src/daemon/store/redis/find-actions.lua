-- include: actions
-- Finds actions by their ids, or the actions of a turn that are not pending. KEYS[1]: the action, or the index of the
-- turn. ARGV: `turn`, or `ids` and the ids. Returns the time, then the fields of each action that was found.
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
