-- How many messages are in each state. KEYS[1]: the states of each platform. Returns for each the state, the number,
-- and the time of the oldest message.
local found = {}
for _, state in ipairs(call('SMEMBERS', KEYS[1])) do
  local at = key('inbox', nil, 'state:' .. state)
  local oldest = call('ZRANGE', at, 0, 0, 'WITHSCORES')[2]
  if oldest then
    found[#found + 1] = { state, call('ZCARD', at), oldest }
  end
end
return found
