-- Sign-in replaces a generated session id. The previous id stays reserved as long as the session exists. It is the tag
-- that the lock and the count of turns use.
ALTER TABLE sessions ADD COLUMN former_id TEXT;
CREATE UNIQUE INDEX sessions_by_former_id ON sessions (former_id) WHERE former_id IS NOT NULL;

DROP TRIGGER guard_turns_end;
CREATE TRIGGER guard_turns_end AFTER DELETE ON sessions
BEGIN
  DELETE FROM guard_turns
  WHERE session_id = coalesce(old.former_id, old.session_id) AND ends_at <= old.expires_at;
END;

-- Before this version, generated ids were not replaced at sign-in, so somebody else may know them. The next message
-- with the token signs in again.
UPDATE sessions SET metadata = '{}', bound_user_id = NULL, bound_person = NULL WHERE generated = 1;

-- Only this person may read the stream: the token in the stream's address was this person's.
ALTER TABLE streams ADD COLUMN reader TEXT;
