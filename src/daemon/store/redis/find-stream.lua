-- include: streams
-- Finds a stream. KEYS[1]: the stream, or the pointer of the idempotency key. ARGV: `id`|`key`, the id or key. Returns
-- the fields of the stream, or null.
local id = ARGV[4]
if ARGV[3] == 'key' then
  id = stream_by_key(id)
end
return id and stream_state(id) and stream_of(id)
