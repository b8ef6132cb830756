-- include: inbox
-- Finds the messages that have an id, in a part of the index. KEYS[1]: the names of all messages. ARGV: the id, a
-- cursor, how many to examine. Returns the next cursor (0: the end), then the fields of each.
local wanted = ARGV[3]
local scanned = call('HSCAN', KEYS[1], ARGV[4], 'COUNT', ARGV[5])
local found = { scanned[1] }
for place = 1, #scanned[2], 2 do
  local id, names = scanned[2][place], cjson.decode(scanned[2][place + 1])
  local platform, message_id, request_id, session_id = names[2], names[3], names[4], names[5]
  local named = id == wanted or (message_id ~= cjson.null and
    (message_id == wanted or platform .. ':' .. message_id == wanted))
  local is_open = request_id == wanted or session_id == wanted
  if (named or is_open) and queue_of(id) then
    local message = message_key(names[1], id)
    if named or call('HGET', message, 'state') ~= 'done' then
      found[#found + 1] = call('HGETALL', message)
    end
  end
end
return found
