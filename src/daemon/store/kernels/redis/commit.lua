-- Stores the changes of steps, in their order; each one only if all that it has read is still the same. ARGV, for each
-- step: its time; the number of documents to check, with the key and the version of each (empty: absent); the number of
-- indexes that must be empty, with their keys; the number of shared texts to check, with the key of each, whether it exists (1 or 0), and the text; the number of arguments of its
-- commands, and for each command the number of its arguments, and these. Returns the time, and for each step 1 if it is
-- stored, or what has changed: number and value of each document, and minus the number of each index.
local DRIFT_MAX = 60000

-- The version of a document; empty if there is none, or it has expired. Its first characters are version and expiry.
local function version(key)
  local head = call('GETRANGE', key, 0, 32)
  local expires = string.sub(head, 21)
  if expires ~= '0000000000000' and expires <= now then
    return ''
  end
  return string.sub(head, 1, 20)
end

-- The text that other programs may write, too; false if there is none.
local function shared(key)
  local text = redis.pcall('GET', key)
  local expires = type(text) == 'string' and call('PEXPIRETIME', key)
  return expires and (expires == -1 or expires > tonumber(now)) and text
end

-- Rewrites a ring without deleted records: a deleted entry of a stream stays in its block in memory and on disk.
local function rewrite(key, copy)
  local ends, after = call('PEXPIRETIME', key), '-'
  call('DEL', copy)
  repeat
    local entries = call('XRANGE', key, after, '+', 'COUNT', 500)
    for _, entry in ipairs(entries) do
      call('XADD', copy, entry[1], unpack(entry[2]))
      after = '(' .. entry[1]
    end
  until #entries < 500
  if call('EXISTS', copy) == 0 then
    call('DEL', key)
  else
    call('RENAME', copy, key)
    if ends > 0 then
      call('PEXPIREAT', key, ends)
    end
  end
end

local commands = {
  SWEEP = sweep,
  -- Adds a member to a sorted set, which is kept as long as each of its members.
  PLACE = function(key, score, member, expires)
    local ends = call('PEXPIRETIME', key)
    call('ZADD', key, score, member)
    if expires == '' then
      if ends >= 0 then
        call('PERSIST', key)
      end
    elseif ends == -2 or (ends >= 0 and ends < tonumber(expires)) then
      call('PEXPIREAT', key, expires)
    end
  end,
  REWRITE = rewrite,
  -- Deletes the records that a ring keeps no longer.
  TRIM = function(key, max, retention, copy)
    local oldest = string.format('%d', now - retention + 1)
    if call('XTRIM', key, 'MAXLEN', max) + call('XTRIM', key, 'MINID', oldest) > 0 then
      rewrite(key, copy)
    end
  end,
  -- Adds a record to a ring: ids are times, unless the clock was set back.
  LOG = function(key, max, retention, time, record, ids)
    local fields = { 'at', time, 'record', record, 'ids', ids }
    local added = redis.pcall('XADD', key, 'MAXLEN', '~', max, time .. '-*', unpack(fields))
    if type(added) == 'table' then
      call('XADD', key, 'MAXLEN', '~', max, '*', unpack(fields))
    end
    call('XTRIM', key, 'MINID', '~', string.format('%d', time - retention))
    call('PEXPIREAT', key, string.format('%d', time + retention))
  end,
}

local at = 2
local function take()
  at = at + 1
  return ARGV[at - 1]
end

-- The server may have lost its keys, and the layout with them: the next daemon refuses a store that has keys and no layout.
if #KEYS > 1 then
  call('SET', KEYS[1], LAYOUT, 'NX')
end

local replies = { now }
while at <= #ARGV do
  local isStale = isReal and math.abs(take() - now) > DRIFT_MAX
  if not isReal then
    take()
  end
  local changed = {}
  for number = 1, take() do
    local key, expected = take(), take()
    if version(key) ~= expected then
      isStale = true
      changed[#changed + 1] = number
      changed[#changed + 1] = call('GET', key)
    end
  end
  for number = 1, take() do
    if call('EXISTS', take()) == 1 then
      isStale = true
      changed[#changed + 1] = -number
      changed[#changed + 1] = false
    end
  end
  for _ = 1, take() do
    local key, exists, text = take(), take(), take()
    if shared(key) ~= (exists == '1' and text) then
      isStale = true
    end
  end
  local size = tonumber(take())
  local stop = at + size
  while not isStale and at < stop do
    local count = tonumber(take())
    local own = commands[ARGV[at]]
    if own then
      own(unpack(ARGV, at + 1, at + count - 1))
    else
      call(unpack(ARGV, at, at + count - 1))
    end
    at = at + count
  end
  at = stop
  replies[#replies + 1] = isStale and changed or 1
end
return replies
