-- include: claims sessions actions
-- Claims a session and reads the data with which its turn begins. KEYS[1]: the claim. ARGV: tag, owner, the session id
-- in the message, key of the turn (empty if there cannot have been an earlier run), maximum number of turns. Returns
-- null while another claim is valid. Otherwise the time, the fields of the session or null, its last turns oldest
-- first, the fields of each pending action, and the fields of each action of the turn.
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
