-- include: claims sessions actions
-- Claims a session and reads what its turn begins with. KEYS[1]: the claim. ARGV: tag, owner, id that the message names,
-- key of the turn (empty: no earlier run of it can have done anything), how many turns at most.
-- Returns null while another claim is valid. Else the time, the fields of the session that was found or null, its last
-- turns oldest first, the fields of each action that waits, and those of each that belongs to the turn.
local session_tag, turn = ARGV[3], ARGV[6]
if claim_valid(KEYS[1]) then
  return false
end
claim_take(KEYS[1], ARGV[4])
local found = find_session(ARGV[5])
return {
  now,
  found and session_of(found) or false,
  found and call('LRANGE', key('session', found, 'turns'), '-' .. ARGV[7], -1) or {},
  find_session(session_tag) and pending_in(session_tag) or {},
  turn ~= '' and actions_of_turn(action_index('turn', turn)) or {},
}
