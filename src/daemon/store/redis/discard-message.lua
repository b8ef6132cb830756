-- include: inbox
-- Deletes a message, and the claim to it. KEYS[1]: the names of all messages. ARGV: id. Returns 1, or 0 if there is none.
local queue = queue_of(ARGV[3])
drop_unasked(ARGV[3])
if not queue then
  return 0
end
delete_message(queue, ARGV[3])
return 1
