-- include: sessions actions
-- The actions that wait in a session. KEYS[1]: their ids. ARGV: tag of the session. Returns the time, then the fields of
-- each.
local found = { now }
if find_session(ARGV[3]) then
  for _, id in ipairs(call('SMEMBERS', KEYS[1])) do
    if action_waits(id) then
      found[#found + 1] = action_of(id)
    end
  end
end
return found
