-- A message that is answered on an event stream, and the events of its answer. `start` is JSON: everything that arrived
-- with the message except for the token. `expires_at` is null during the run.

CREATE TABLE streams (
  id              INTEGER PRIMARY KEY,
  stream_id       TEXT    NOT NULL UNIQUE,
  state           TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'ended')),
  idempotency_key TEXT,
  fingerprint     TEXT    NOT NULL,
  owner           TEXT,
  token           TEXT,
  start           TEXT    NOT NULL,
  last_event      INTEGER NOT NULL,
  ttl_ms          INTEGER NOT NULL,
  expires_at      INTEGER
) STRICT;

CREATE UNIQUE INDEX streams_by_key    ON streams (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX        streams_by_expiry ON streams (expires_at)      WHERE expires_at IS NOT NULL;
CREATE INDEX        streams_running   ON streams (state)           WHERE state = 'running';

CREATE TABLE stream_events (
  stream INTEGER NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
  id     INTEGER NOT NULL,
  name   TEXT    NOT NULL,
  data   TEXT    NOT NULL,
  PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;
