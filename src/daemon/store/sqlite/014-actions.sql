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
