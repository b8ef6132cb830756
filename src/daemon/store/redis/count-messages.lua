-- How many messages are in each state. KEYS[1]: the states of each platform. Returns the state, the number of messages,
-- and the time of the oldest message, for each state of each platform.
local found = {}
for _, state in ipairs(call('SMEMBERS', KEYS[1])) do
  local at = key('inbox', nil, 'state:' .. state)
  local oldest = call('ZRANGE', at, 0, 0, 'WITHSCORES')[2]
  if oldest then
    found[#found + 1] = { state, call('ZCARD', at), oldest }
  end
end
return found
