-- include: parts
-- Checks or stores parts of a commit that are in a different shard from their session. KEYS[1]: any key of the shard.
-- ARGV: `check`|`store`, the process that need not be notified, JSON of the parts as in parts.lua. Returns `stored`, or
-- why they cannot be stored (`parts_refused`).
local parts = cjson.decode(ARGV[5])
local refused = parts_refused(parts)
if refused then
  return refused
end
if ARGV[3] == 'store' then
  store_parts(parts, ARGV[4])
end
return 'stored'
