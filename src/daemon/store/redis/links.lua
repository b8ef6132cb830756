-- A link is a plain string, which other programs may write, too. A hash in the same slot contains the other facts about
-- the link, and expires with it.

-- A record of another type, which another program wrote, does not count as a link.
local stored = alive(KEYS[1]) and redis.pcall('GET', KEYS[1])
local value = type(stored) == 'string' and stored

local function forget_beside()
  call('DEL', KEYS[2])
end

-- When the link ends. A link without an expiry was written by another program.
local function link_ends()
  local ends = call('PEXPIRETIME', KEYS[1])
  return ends == -1 and now + LINK_MS or ends
end

local function keep_beside()
  call('PEXPIREAT', KEYS[2], link_ends())
end
