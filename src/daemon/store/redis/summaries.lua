-- include: sessions
-- Summaries: fields of the hash of their session, `summary:<principal>`; `summarizing` is the token of the one that is
-- being made, until `summarizing_until`.

local function being_made(session_tag)
  local ends = tonumber(call('HGET', session_key(session_tag), 'summarizing_until') or 0)
  return ends > now and call('HGET', session_key(session_tag), 'summarizing')
end
