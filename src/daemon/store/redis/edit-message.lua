-- include: inbox
-- Replaces the text of a message if no attempt at it has begun, and if its user and session are the given ones. KEYS[1]:
-- the facts about its message id. ARGV: the user, the session, the text. Returns 1, or 0 if there is no such message.
local id = alive(KEYS[1]) and call('HGET', KEYS[1], 'id')
local queue = id and queue_of(id)
if not queue then
  return 0
end
local at = message_key(queue, id)
local found = call('HMGET', at, 'state', 'attempts', 'is_run', 'doc')
if found[1] ~= 'waiting' or tonumber(found[2]) > 0 or not found[3] then
  return 0
end
local doc = cjson.decode(found[4])
if doc.message.user_id ~= ARGV[3] or doc.session_id ~= ARGV[4] then
  return 0
end
call('HSET', at, 'text', ARGV[5])
return 1
