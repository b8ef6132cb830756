-- include: inbox erased
-- Deletes a message, and the claim to it. KEYS[1]: the names of all messages. ARGV: id, the tag of the session in which
-- it runs, whose claim ends (empty if there is none). Returns 1.
local queue = queue_of(ARGV[3])
drop_unasked(ARGV[3])
if queue then
  delete_message(queue, ARGV[3])
end
note_erased(ARGV[3])
if ARGV[4] ~= '' then
  call('DEL', key('session', ARGV[4], 'claim'))
end
return 1
