-- include: sessions
-- Deletes a session with its turns and its count. KEYS[1]: the session that would have this id as its tag. ARGV: id.
-- Returns 1, or 0 if there is none.
local found = find_session(ARGV[3])
if not found then
  return 0
end
end_session(found)
return 1
