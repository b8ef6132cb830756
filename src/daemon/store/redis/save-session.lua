-- include: claims sessions
-- Writes a session under its claim.
-- KEYS[1]: the claim. ARGV: tag, owner, `new`|`changed`|`replaced`, tag of the given session, the session as JSON.
-- Returns `saved`, `ended`, `lost`; `mismatch` if the claim is for a different session, `taken` if an id is not free.
local session_tag, owner, as = ARGV[3], ARGV[4], ARGV[5]
if not claim_held(KEYS[1], owner) then
  return 'lost'
end
if ARGV[6] ~= session_tag then
  return 'mismatch'
end
local session = cjson.decode(ARGV[7])
if as == 'changed' then
  local found = find_session(session_tag)
  if not found then
    return 'ended'
  end
  put_session(found, session)
  return 'saved'
end
local replaced = as == 'replaced' and find_session(session.session_id)
if replaced then
  end_session(replaced)
end
if not session_ids_free(session) then
  return 'taken'
end
create_session(session_tag, session)
return 'saved'
