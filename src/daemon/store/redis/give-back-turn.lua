-- Subtracts one turn. KEYS[1]: the count of a session.
local turns = alive(KEYS[1]) and tonumber(call('HGET', KEYS[1], 'turns') or 0) or 0
if turns > 0 then
  call('HINCRBY', KEYS[1], 'turns', -1)
end
return 1
