-- include: inbox
-- Ends a claim and changes its message. KEYS[1]: the claim of the queue. ARGV: queue, id, owner, the state for which
-- the changes were made, the changes as JSON. Returns 1; 0 if the claim is lost; the fields of the message if its state
-- is different.
local queue, id = ARGV[3], ARGV[4]
if not message_held(queue, id, ARGV[5]) then
  return 0
end
if call('HGET', message_key(queue, id), 'state') ~= ARGV[6] then
  return message_of(queue, id)
end
end_message_claim(queue)
change_message(queue, id, cjson.decode(ARGV[7]))
return 1
