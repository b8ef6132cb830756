-- KEYS[1]: the outages. Returns the time, then platform and JSON of each.
return { now, call('HGETALL', KEYS[1]) }
