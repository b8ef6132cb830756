-- Traces of refused requests. Anybody can send such requests, so their traces have a separate limit. The table has the
-- same columns as `traces`.
CREATE TABLE refused_traces (
  id         INTEGER PRIMARY KEY,
  kept_at    INTEGER NOT NULL,
  turn_id    TEXT    NOT NULL,
  request_id TEXT    NOT NULL,
  session_id TEXT,
  message_id TEXT,
  trace      TEXT    NOT NULL
) STRICT;

CREATE INDEX refused_traces_by_turn    ON refused_traces (id / 256, turn_id);
CREATE INDEX refused_traces_by_request ON refused_traces (id / 256, request_id);
CREATE INDEX refused_traces_by_session ON refused_traces (id / 256, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX refused_traces_by_message ON refused_traces (id / 256, message_id) WHERE message_id IS NOT NULL;

-- `client` is the hashed address of the anonymous client that began the session; null if there is none, or if the
-- session has an owner. `bytes` is the size of the session with its turns and their traces.
ALTER TABLE sessions ADD COLUMN client TEXT;
ALTER TABLE sessions ADD COLUMN bytes  INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_by_client ON sessions (client) WHERE client IS NOT NULL;

-- The id of the turn's trace. If the session is deleted to make room for others, the traces of its turns are deleted,
-- too.
ALTER TABLE turns ADD COLUMN trace INTEGER;
