-- include: inbox
-- Changes messages that are not claimed and have not changed since they were read. KEYS[1]: the names of all messages.
-- ARGV: for each message its id, its state, `text_stored_at` and `sends` as they were read, and the changes as JSON.
-- Returns how many messages were changed.
local changed = 0
for place = 3, #ARGV, 5 do
  local id = ARGV[place]
  local queue = queue_of(id)
  if queue and call('HGET', working_key(queue), 'id') ~= id then
    local found = call('HMGET', message_key(queue, id), 'state', 'text_stored_at', 'sends')
    if found[1] == ARGV[place + 1] and found[2] == ARGV[place + 2] and found[3] == ARGV[place + 3] then
      change_message(queue, id, cjson.decode(ARGV[place + 4]))
      changed = changed + 1
    end
  end
end
return changed
