-- include: inbox
-- Deletes some messages that ended long ago. KEYS[1]: the index of ended messages. Returns how many ended messages
-- whose time has passed are left.
delete_ended()
return call('ZCOUNT', KEYS[1], '-inf', now)
