-- Points an alias to a link. KEYS[1]: the alias. ARGV: the key of the link (empty to delete the alias); how long the
-- alias is kept, in ms; 1 to write only if the alias points to the key in the next argument. Returns the key to which
-- the alias pointed before, or null.
local found = alive(KEYS[1]) and call('GET', KEYS[1])
if ARGV[5] == '1' and found ~= ARGV[6] then
  return found
end
if ARGV[3] == '' then
  call('DEL', KEYS[1])
else
  call('SET', KEYS[1], ARGV[3], 'PXAT', now + tonumber(ARGV[4]))
end
return found
