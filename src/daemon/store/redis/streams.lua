-- A stream is a hash and a list of its events. A pointer leads from its idempotency key to the stream. Running streams
-- are in an index, ordered by the end of their claims. Waiting streams and ended streams expire. Running streams do not
-- expire.

local RUNNING = key('streams', nil, 'running')

local function stream_key(id)
  return key('stream', id, 'state')
end

local function stream_held(id, owner)
  return call('HGET', stream_key(id), 'claim') == owner
end

-- The state of a live stream; nil if there is none.
local function stream_state(id)
  local at = stream_key(id)
  return alive(at) and call('HGET', at, 'state') or nil
end

local function stream_of(id)
  return call('HMGET', stream_key(id), 'doc', 'key', 'owner', 'token', 'reader', 'state', 'stop', 'last')
end

-- The live stream that has the idempotency key; nil if there is none.
local function stream_by_key(name)
  local id = call('GET', key('stream-key', name, 'stream'))
  if id and stream_state(id) and call('HGET', stream_key(id), 'key') == name then
    return id
  end
  return nil
end

-- Whether events that begin with this id follow the last event of a running stream.
local function stream_continues(id, first)
  local fields = call('HMGET', stream_key(id), 'state', 'last')
  return fields[1] == 'running' and (not first or tonumber(fields[2]) + 1 == first)
end

local function claim_stream(id, owner)
  call('HSET', stream_key(id), 'claim', owner)
  call('ZADD', RUNNING, now + CLAIM_MS, id)
end

-- Adds the next events. `ending`: the name of the last event if it ends the stream. `origin`: the process that need not
-- be notified.
local function append_events(id, events, ending, origin)
  if #events == 0 then
    return
  end
  local at, list = stream_key(id), key('stream', id, 'events')
  for _, event in ipairs(events) do
    call('RPUSH', list, event)
  end
  call('HINCRBY', at, 'last', #events)
  if ending then
    call('HSET', at, 'state', 'ended')
    call('HDEL', at, 'stop', 'claim')
    call('ZREM', RUNNING, id)
    local ends = now + tonumber(call('HGET', at, 'ttl'))
    local name = call('HGET', at, 'key')
    if ending == 'error' then
      -- The message can be sent again under the same key.
      call('HDEL', at, 'key')
    elseif name then
      call('PEXPIREAT', key('stream-key', name, 'stream'), ends)
    end
    call('PEXPIREAT', at, ends)
    call('PEXPIREAT', list, ends)
  end
  call('PUBLISH', key('stream', id, 'changes'), origin .. ' events')
end
