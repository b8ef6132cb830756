-- KEYS[1]: the ids of daemons by the end of their record; KEYS[2]: their facts. Returns the facts of running daemons.
local found = {}
for _, id in ipairs(call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  found[#found + 1] = call('HGET', KEYS[2], id) or nil
end
return found
