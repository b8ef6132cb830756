-- Lists the running daemons. KEYS[1]: the ids of daemons, ordered by when their records end; KEYS[2]: the facts about
-- each daemon. Returns the facts about each running daemon.
local found = {}
for _, id in ipairs(call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  found[#found + 1] = call('HGET', KEYS[2], id) or nil
end
return found
