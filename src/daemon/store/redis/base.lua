-- The beginning of every script: the time, the names of keys, expiry. ARGV[1]: the hash tag that all keys share, in a
-- Cluster; empty elsewhere. ARGV[2]: the time in tests, ms since the epoch; otherwise empty, and the time is that of
-- the server.

local call = redis.call
local tag = ARGV[1]
if tag ~= '' then
  -- The key that never exists (`RedisKeyspace`).
  KEYS[#KEYS] = nil
end
local now
if ARGV[2] ~= '' then
  now = tonumber(ARGV[2])
else
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- As `KeyNames.key`. Without a name: the only record of its kind.
local function key(kind, name, part)
  local whole = name and (kind .. ':' .. name) or kind
  if tag == '' then
    return 'agentd:{' .. whole .. '}:' .. part
  end
  return 'agentd:{' .. tag .. '}:' .. whole .. ':' .. part
end

-- Whether a key exists and has not expired.
local function alive(at)
  local ends = call('PEXPIRETIME', at)
  return ends == -1 or ends > now
end
