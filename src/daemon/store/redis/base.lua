-- The beginning of every script: the time, the names of keys, and expiry. ARGV[1]: in a Cluster, the hash tag that all
-- keys of the script share; otherwise empty. ARGV[2]: in tests, the time in ms since the epoch; otherwise empty, and
-- the server's time is used. The first comment of each script lists the script's own arguments, from ARGV[3] on.

local call = redis.call
local tag = ARGV[1]
if tag ~= '' then
  -- Removes the last key, which never exists (`absentKey` in keyspace.ts).
  KEYS[#KEYS] = nil
end
local now
if ARGV[2] ~= '' then
  now = tonumber(ARGV[2])
else
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Makes the same names as `KeyNames.key`. Without a name: the key of the only record of its kind.
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
