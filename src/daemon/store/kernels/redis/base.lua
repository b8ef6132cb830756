-- The beginning of both scripts. ARGV[1]: in tests, the time in ms since the epoch; otherwise empty.
local call = redis.call
local isReal = ARGV[1] == ''
local now = ARGV[1]
if isReal then
  local time = call('TIME')
  now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
end

-- Takes the documents of a kind that have expired out of its indexes, once in a run of the script.
local swept = {}
local function sweep(ends)
  if swept[ends] then
    return
  end
  swept[ends] = true
  repeat
    local gone = call('ZRANGE', ends, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
    for _, member in ipairs(gone) do
      for _, place in ipairs(cjson.decode(member)[2]) do
        call('ZREM', place[1], place[2])
      end
      call('ZREM', ends, member)
    end
  until #gone < 100
end

