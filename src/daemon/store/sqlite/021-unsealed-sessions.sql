-- Sessions with tokens that were stored while sealing was off; if there are none, the index is empty. The daemon
-- queries it at each start.
CREATE INDEX sessions_unsealed ON sessions (id)
  WHERE bound_user_id IS NOT NULL AND substr(metadata ->> '$.jwt_context.token', 1, 10) <> 'sealed.v1.';
