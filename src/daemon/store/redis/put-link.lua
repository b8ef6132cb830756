-- include: links
-- Writes a link if its value is still the expected one. KEYS[1]: the link; KEYS[2]: other facts about it. ARGV: value,
-- person, ttl, whether a value is expected (1 or 0), the expected value. Returns 1, or 0 if the link has a different
-- value.
if (value or false) ~= (ARGV[6] == '1' and ARGV[7]) then
  return 0
end
-- The alias of a link is kept if it was bound for the same person.
if not value or not alive(KEYS[2]) or call('HGET', KEYS[2], 'alias_person') ~= ARGV[4] then
  forget_beside()
end
call('HDEL', KEYS[2], 'notified')
call('SET', KEYS[1], ARGV[3], 'PXAT', now + tonumber(ARGV[5]))
keep_beside()
return 1
