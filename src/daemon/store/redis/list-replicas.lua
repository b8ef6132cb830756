-- KEYS[1]: the ids of daemons by their end; KEYS[2]: their facts. Returns the facts of those that run.
local found = {}
for _, id in ipairs(call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  found[#found + 1] = call('HGET', KEYS[2], id) or nil
end
return found
