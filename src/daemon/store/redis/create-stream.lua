-- include: streams
-- Stores a new stream, which is waiting. KEYS[1]: the stream. ARGV: id, ttl, the stream as JSON, idempotency key,
-- owner, token (each empty if there is none). Returns the fields of the live stream with that idempotency key, or else
-- of the new stream.
local id, ttl, name = ARGV[3], tonumber(ARGV[4]), ARGV[6]
local same = name ~= '' and stream_by_key(name)
if same then
  return stream_of(same)
end
local ends = now + ttl
call('HSET', KEYS[1], 'doc', ARGV[5], 'ttl', ttl, 'state', 'waiting', 'last', 0)
if name ~= '' then
  call('HSET', KEYS[1], 'key', name)
  call('SET', key('stream-key', name, 'stream'), id, 'PXAT', ends)
end
if ARGV[7] ~= '' then
  call('HSET', KEYS[1], 'owner', ARGV[7])
end
if ARGV[8] ~= '' then
  call('HSET', KEYS[1], 'token', ARGV[8])
end
call('PEXPIREAT', KEYS[1], ends)
return stream_of(id)
