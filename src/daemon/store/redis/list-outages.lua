-- Lists the outages. KEYS[1]: the outages. Returns the time, then platform and JSON of each outage.
return { now, call('HGETALL', KEYS[1]) }
