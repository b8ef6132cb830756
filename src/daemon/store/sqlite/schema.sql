-- The tables of the embedded store. Times are ms since the epoch. Data that is always read as a whole is JSON in one
-- column. A message changes as few pages as possible: data that is read and written together is in one row, and no index
-- contains data that changes with every message. `look_at` is when the sweeper checks a row. It is never later than the
-- end that the row had when it was written. If the row was extended after that, it is checked again at its new end.

-- `former_id`: the id before sign-in, which stays reserved as long as the session exists. It is the tag that the lock and
-- the count of turns use. `client` is the hashed address of the anonymous client that began the session; null if there
-- is none, or if the session has an owner. `bytes` is the size of the session with its turns and their traces.
-- `last_turn`: the turns of a session are found backwards from its last turn.
CREATE TABLE sessions (
  id             INTEGER PRIMARY KEY,
  session_id     TEXT    NOT NULL UNIQUE,
  former_id      TEXT,
  user_id        TEXT    NOT NULL,
  platform       TEXT    NOT NULL,
  space          TEXT    NOT NULL,
  generated      INTEGER NOT NULL,
  owner          TEXT,
  bound_user_id  TEXT,
  bound_person   TEXT,
  client         TEXT,
  turns          INTEGER NOT NULL,
  last_turn      INTEGER,
  created_at     INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL,
  look_at        INTEGER NOT NULL,
  bytes          INTEGER NOT NULL,
  metadata       TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX sessions_by_former_id ON sessions (former_id) WHERE former_id IS NOT NULL;
CREATE INDEX sessions_by_look   ON sessions (look_at);
CREATE INDEX sessions_by_client ON sessions (client) WHERE client IS NOT NULL;
-- Sessions with tokens that were stored while sealing was off; if there are none, the index is empty. The daemon
-- queries it at each start.
CREATE INDEX sessions_unsealed ON sessions (id)
  WHERE bound_user_id IS NOT NULL AND substr(metadata ->> '$.jwt_context.token', 1, 10) <> 'sealed.v1.';

-- One row for each message and its reply. `person` and `answered` are separate from the JSON because queries use them.
-- `trace` is the id of the turn's trace. If the session is deleted to make room for others, the traces of its turns are
-- deleted, too.
CREATE TABLE turns (
  id       INTEGER PRIMARY KEY,
  session  INTEGER NOT NULL,
  previous INTEGER,
  person   TEXT,
  answered INTEGER NOT NULL,
  trace    INTEGER,
  turn     TEXT    NOT NULL
) STRICT;

-- Summaries of the turns that do not fit into the history of a session, one for each of its principals.
CREATE TABLE summaries (
  session      INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  principal    TEXT    NOT NULL,
  text         TEXT    NOT NULL,
  through_turn TEXT    NOT NULL,
  through_at   INTEGER NOT NULL,
  -- Whether it was made of turns that had read results of tools of an origin other than that of API_BASE_URL.
  tainted      INTEGER NOT NULL,
  PRIMARY KEY (session, principal)
) STRICT, WITHOUT ROWID;

-- A row means that a summary of the session is being made. After `expires_at`, another caller may make it.
CREATE TABLE summarizing (
  session    INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
  owner      TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

-- Traces outlive their session. Ids rise with time and the lowest are deleted first. So the oldest rows are found
-- without an index, and the number of rows is the difference of two ids. The first column of each index is the number of
-- a block of 256 traces, so that new entries are next to each other. `client` is as in `sessions`, for a trace that was
-- stored without a turn.
CREATE TABLE traces (
  id         INTEGER PRIMARY KEY,
  kept_at    INTEGER NOT NULL,
  client     TEXT,
  turn_id    TEXT    NOT NULL,
  request_id TEXT    NOT NULL,
  session_id TEXT,
  message_id TEXT,
  trace      TEXT    NOT NULL
) STRICT;

CREATE INDEX traces_by_client  ON traces (client) WHERE client IS NOT NULL;
CREATE INDEX traces_by_turn    ON traces (id / 256, turn_id);
CREATE INDEX traces_by_request ON traces (id / 256, request_id);
CREATE INDEX traces_by_session ON traces (id / 256, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX traces_by_message ON traces (id / 256, message_id) WHERE message_id IS NOT NULL;

-- Traces of refused requests. Anybody can send such requests, so their traces have a separate limit. The table has the
-- same columns as `traces`.
CREATE TABLE refused_traces (
  id         INTEGER PRIMARY KEY,
  kept_at    INTEGER NOT NULL,
  client     TEXT,
  turn_id    TEXT    NOT NULL,
  request_id TEXT    NOT NULL,
  session_id TEXT,
  message_id TEXT,
  trace      TEXT    NOT NULL
) STRICT;

CREATE INDEX refused_traces_by_client  ON refused_traces (client) WHERE client IS NOT NULL;
CREATE INDEX refused_traces_by_turn    ON refused_traces (id / 256, turn_id);
CREATE INDEX refused_traces_by_request ON refused_traces (id / 256, request_id);
CREATE INDEX refused_traces_by_session ON refused_traces (id / 256, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX refused_traces_by_message ON refused_traces (id / 256, message_id) WHERE message_id IS NOT NULL;

-- Logs of the counters that last for minutes, with one row for each commit. The daemon keeps the counters in memory.
-- `entries` is a JSON list. Each element is [key, expires_at, state], or [key] if the state was deleted.
CREATE TABLE limit_log (id INTEGER PRIMARY KEY, entries TEXT NOT NULL) STRICT;
CREATE TABLE guard_log (id INTEGER PRIMARY KEY, entries TEXT NOT NULL) STRICT;

-- The number of turns that passed. It is not stored with the session, because the session may not be stored yet. The
-- count ends with its session, or at `ends_at` if the session is not stored yet.
CREATE TABLE guard_turns (
  session_id TEXT    PRIMARY KEY,
  turns      INTEGER NOT NULL,
  blocked    INTEGER NOT NULL,
  max        INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL,
  look_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX guard_turns_by_look ON guard_turns (look_at);
CREATE INDEX guard_turns_blocked ON guard_turns (session_id) WHERE blocked > 0;

-- An expired session may be deleted after a new session with the same id has begun. The count of the new session must
-- not be deleted.
CREATE TRIGGER guard_turns_end AFTER DELETE ON sessions
BEGIN
  DELETE FROM guard_turns
  WHERE session_id = coalesce(old.former_id, old.session_id) AND ends_at <= old.expires_at;
END;

-- How many tokens of AGENT_DAILY_TOKENS each person and each anonymous client has used, as JSON.
CREATE TABLE budgets (
  key        TEXT    PRIMARY KEY,
  tokens     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX budgets_by_expiry ON budgets (expires_at);

-- The answers of Idempotency-Keys. `client` is as in `sessions`.
CREATE TABLE answers (
  key         TEXT    PRIMARY KEY,
  fingerprint TEXT    NOT NULL,
  client      TEXT,
  expires_at  INTEGER NOT NULL,
  answer      TEXT    NOT NULL
) STRICT;

CREATE INDEX answers_by_expiry ON answers (expires_at);
CREATE INDEX answers_by_client ON answers (client) WHERE client IS NOT NULL;

-- Messages that are answered later. The queues are built in memory from the messages that have not ended. `claim` names
-- the worker that processes a message. `wait_ms`: how long the next attempt was postponed; if the clock is set back, no
-- attempt waits longer than this. `question`: the question at the end of a stored reply, as JSON; null if there is none.
CREATE TABLE inbox (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL UNIQUE,
  platform        TEXT    NOT NULL,
  queue           TEXT    NOT NULL,
  session_id      TEXT,
  message_id      TEXT,
  user_id         TEXT,
  message         TEXT,
  reply_to        TEXT    NOT NULL,
  reply           TEXT,
  question        TEXT,
  notice          TEXT,
  failure         TEXT,
  notice_failure  TEXT,
  request_id      TEXT    NOT NULL,
  state           TEXT    NOT NULL,
  claim           TEXT,
  attempts        INTEGER NOT NULL,
  passing         INTEGER NOT NULL DEFAULT 0,
  interrupted     INTEGER NOT NULL DEFAULT 0,
  first_run_at    INTEGER,
  sends           INTEGER NOT NULL,
  text_stored_at  INTEGER,
  parts_sent      INTEGER NOT NULL DEFAULT 0,
  sent_at         INTEGER NOT NULL,
  received_at     INTEGER NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  wait_ms         INTEGER NOT NULL DEFAULT 0,
  ended_at        INTEGER
) STRICT;

CREATE INDEX inbox_by_end     ON inbox (state, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX inbox_unfinished ON inbox (seq) WHERE ended_at IS NULL;

-- The facts that are recorded about a message of a platform: the verdict of the guard, and the id of the message in the
-- inbox. Both are in one row because one commit writes both. The row outlives the message, so that late repeats are
-- recognized. An erasure finds it by `user_id`.
CREATE TABLE known_messages (
  platform   TEXT    NOT NULL,
  message_id TEXT    NOT NULL,
  user_id    TEXT,
  verdict    TEXT,
  id         TEXT,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (platform, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX known_messages_by_expiry ON known_messages (expires_at);

-- Platforms that cannot be reached.
CREATE TABLE outages (
  platform TEXT    PRIMARY KEY,
  reason   TEXT    NOT NULL,
  words    TEXT    NOT NULL,
  since    INTEGER NOT NULL,
  probes   INTEGER NOT NULL,
  probe_at INTEGER NOT NULL,
  wait_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys have the documented form `<platform>:jwt:<user_id>`. `alias` is another id of a link's user, which the sender of
-- a message must have. `alias_person` is the person for whom it was bound. `found_by` is the same id if a search for it
-- finds this link. A search for an id finds at most one link.
CREATE TABLE links (
  key          TEXT    PRIMARY KEY,
  token        TEXT    NOT NULL,
  expires_at   INTEGER NOT NULL,
  lapse_told   INTEGER NOT NULL,
  alias        TEXT,
  alias_person TEXT,
  found_by     TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX links_by_expiry ON links (expires_at);
CREATE UNIQUE INDEX links_by_alias ON links (found_by) WHERE found_by IS NOT NULL;

-- A message that is answered on an event stream, and the events of its answer. `start` is JSON: everything that arrived
-- with the message except for the token. Only `reader` may read the stream: the token in the stream's address was this
-- person's. `expires_at` is null during the run. `client` is as in `sessions`; `bytes` is the size of the stream with
-- the events of a run that has ended.
CREATE TABLE streams (
  id              INTEGER PRIMARY KEY,
  stream_id       TEXT    NOT NULL UNIQUE,
  state           TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'ended')),
  idempotency_key TEXT,
  fingerprint     TEXT    NOT NULL,
  owner           TEXT,
  reader          TEXT,
  client          TEXT,
  token           TEXT,
  start           TEXT    NOT NULL,
  bytes           INTEGER NOT NULL,
  ttl_ms          INTEGER NOT NULL,
  expires_at      INTEGER
) STRICT;

CREATE UNIQUE INDEX streams_by_key    ON streams (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX        streams_by_expiry ON streams (expires_at)      WHERE expires_at IS NOT NULL;
CREATE INDEX        streams_by_client ON streams (client)         WHERE client IS NOT NULL;
CREATE INDEX        streams_running   ON streams (state)           WHERE state = 'running';

CREATE TABLE stream_events (
  stream INTEGER NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
  id     INTEGER NOT NULL,
  name   TEXT    NOT NULL,
  data   TEXT    NOT NULL,
  PRIMARY KEY (stream, id)
) STRICT, WITHOUT ROWID;

-- The journal of actions, and the actions that wait to be confirmed. Ids rise with time.
CREATE TABLE actions (
  id          INTEGER PRIMARY KEY,
  action_id   TEXT    NOT NULL UNIQUE,
  session_tag TEXT,
  session_id  TEXT,
  platform    TEXT,
  user_id     TEXT,
  alias_id    TEXT,
  person      TEXT,
  operator    TEXT,
  turn_key    TEXT    NOT NULL,
  tool        TEXT    NOT NULL,
  args        TEXT    NOT NULL,
  summary     TEXT    NOT NULL,
  principal   TEXT,
  asked_by    TEXT,
  answer_ms   INTEGER,
  state       TEXT    NOT NULL,
  attempt     INTEGER NOT NULL,
  status      INTEGER,
  answer      TEXT,
  asked_at    INTEGER,
  expires_at  INTEGER,
  created_at  INTEGER NOT NULL,
  started_at  INTEGER,
  finished_at INTEGER
) STRICT;

CREATE INDEX actions_by_turn ON actions (turn_key);
-- The index is small, because few actions are pending at a time.
CREATE INDEX actions_pending ON actions (session_tag, principal) WHERE state = 'pending';
CREATE INDEX actions_unasked ON actions (asked_by) WHERE state = 'pending' AND asked_at IS NULL;
CREATE INDEX actions_by_person ON actions (person) WHERE person IS NOT NULL;
CREATE INDEX actions_by_user ON actions (user_id, platform) WHERE user_id IS NOT NULL;
CREATE INDEX actions_by_session ON actions (session_tag) WHERE session_tag IS NOT NULL;
-- Actions that were stored while sealing was off; if there are none, the index is empty.
CREATE INDEX actions_unsealed ON actions (id) WHERE substr(args, 1, 10) <> 'sealed.v1.';

-- How MCP servers define their tools: the trusted definition, and the definition that the server sends now if it is
-- different. Definitions are JSON: digest, title, description, schema.
CREATE TABLE tool_digests (
  name       TEXT PRIMARY KEY,
  source     TEXT NOT NULL,
  trusted    TEXT NOT NULL,
  trusted_at INTEGER NOT NULL,
  changed    TEXT,
  changed_at INTEGER
) STRICT, WITHOUT ROWID;

-- Long-term memory: the owners of memories, and the memories.
CREATE TABLE memory_owners (
  owner_no INTEGER PRIMARY KEY,
  owner TEXT NOT NULL UNIQUE,
  alias TEXT
) STRICT;

CREATE TABLE memories (
  memory_no INTEGER PRIMARY KEY,
  memory_id TEXT NOT NULL UNIQUE,
  owner_no INTEGER NOT NULL REFERENCES memory_owners ON DELETE CASCADE,
  tainted INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;

CREATE INDEX memories_by_owner ON memories (owner_no, used_at);

-- The words of each memory, found by `memory_no`. Each word has the number of its owner before it (memories.ts), so
-- that a search reads only the words of one owner.
CREATE VIRTUAL TABLE memory_terms USING fts5(terms, detail = none, columnsize = 0, tokenize = 'ascii');
-- Deleted words are overwritten, like everything else in this file.
INSERT INTO memory_terms (memory_terms, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER memories_end AFTER DELETE ON memories
BEGIN
  DELETE FROM memory_terms WHERE rowid = old.memory_no;
END;

-- Hashes of the ids of erased sessions and turns, kept for an hour, so that a run that was under way during the erasure
-- stores nothing.
CREATE TABLE erased (
  id      BLOB    PRIMARY KEY,
  ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The audit log: what administrators did (src/daemon/store/audit.ts).
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  user    TEXT NOT NULL,
  command TEXT NOT NULL,
  about   TEXT,
  person  TEXT
) STRICT;

CREATE INDEX audit_by_time ON audit (at);

CREATE TABLE audit_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL
) STRICT;

-- A row that is written to test whether the store can be written.
CREATE TABLE last_check (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
) STRICT;
