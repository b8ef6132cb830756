-- Reads what steps want, all of it at one moment. ARGV: reads, each a letter with its arguments. Returns the time and
-- the answer to each read.
local reads = {
  -- A document.
  d = function(key)
    return call('GET', key)
  end,
  -- The text of a shared document, and when it expires. A value of another type, which another program wrote, is none.
  p = function(key)
    local text = redis.pcall('GET', key)
    return type(text) == 'string' and { text, call('PEXPIRETIME', key) }
  end,
  -- The first documents of an index: the stored key and the document of each.
  f = function(prefix, index, ends, limit)
    sweep(ends)
    local found = {}
    for _, member in ipairs(call('ZRANGE', index, 0, limit - 1)) do
      local key = string.sub(member, 17)
      local document = call('GET', prefix .. key)
      if document then
        found[#found + 1] = key
        found[#found + 1] = document
      else
        call('ZREM', index, member)
      end
    end
    return found
  end,
  -- How many documents are in an index.
  c = function(index, ends)
    sweep(ends)
    return call('ZCARD', index)
  end,
  -- The version of a document, and its list.
  l = function(key, list, start)
    return { call('GETRANGE', key, 0, 19), call('LRANGE', list, start, -1) }
  end,
  -- The number of a step.
  s = function(key)
    return call('INCR', key)
  end,
  -- Records of a ring before a place, newest first: the place to go on at, and then of each record that has the id:
  -- place, time and record. Examines a limited number of records.
  r = function(ring, before, count, id)
    local entries = call('XREVRANGE', ring, before, '-', 'COUNT', count)
    local found = { #entries == tonumber(count) and '(' .. entries[#entries][1] or '' }
    for _, entry in ipairs(entries) do
      local fields = entry[2]
      if id == '' or string.find(fields[6], id, 1, true) then
        found[#found + 1] = entry[1]
        found[#found + 1] = fields[2]
        found[#found + 1] = fields[4]
      end
    end
    return found
  end,
}
local sizes = { d = 1, p = 1, f = 4, c = 2, l = 3, s = 1, r = 4 }

local answers = { now }
local at = 2
while at <= #ARGV do
  local name = ARGV[at]
  answers[#answers + 1] = reads[name](unpack(ARGV, at + 1, at + sizes[name]))
  at = at + 1 + sizes[name]
end
return answers
