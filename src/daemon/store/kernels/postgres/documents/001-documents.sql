-- Documents, their places in ordered indexes, and their lists. Times are ms since the epoch.
CREATE TABLE agentd_documents (
  kind text NOT NULL,
  key text NOT NULL,
  doc text NOT NULL,
  expires_at bigint,
  -- Different after each change.
  version bigint NOT NULL,
  PRIMARY KEY (kind, key)
);
CREATE INDEX agentd_documents_expiry ON agentd_documents (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE agentd_places (
  kind text NOT NULL,
  index_name text NOT NULL,
  score double precision NOT NULL,
  tie double precision NOT NULL,
  key text NOT NULL,
  PRIMARY KEY (kind, index_name, score, tie, key),
  FOREIGN KEY (kind, key) REFERENCES agentd_documents ON DELETE CASCADE
);
CREATE INDEX agentd_places_of ON agentd_places (kind, key);

CREATE TABLE agentd_items (
  kind text NOT NULL,
  key text NOT NULL,
  position integer NOT NULL,
  item text NOT NULL,
  PRIMARY KEY (kind, key, position),
  FOREIGN KEY (kind, key) REFERENCES agentd_documents ON DELETE CASCADE
);

-- Logs of bounded size.
CREATE TABLE agentd_records (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ring text NOT NULL,
  kept_at bigint NOT NULL,
  record text NOT NULL,
  ids text[] NOT NULL
);
CREATE INDEX agentd_records_ring ON agentd_records (ring, id);
CREATE INDEX agentd_records_ids ON agentd_records USING gin (ids);

-- Numbers of steps and versions of documents.
CREATE SEQUENCE agentd_serial;

-- Reads what several steps want, in one trip. steps: [[wanted, now_ms], …]; now_ms: the time of the step, null for the
-- time of the server. Numbers are given to the steps in their order.
CREATE FUNCTION agentd_read(steps json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  server_time bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  step json;
  time bigint;
  one json;
  answer json;
  answers json[];
  results json[] := '{}';
BEGIN
  FOR step IN SELECT * FROM json_array_elements(steps) LOOP
    time := coalesce((step->>1)::bigint, server_time);
    answers := '{}';
    FOR one IN SELECT * FROM json_array_elements(step->0) LOOP
      answer := NULL;
      CASE one->>0
        WHEN 'document' THEN
          SELECT json_build_object('version', d.version::text, 'doc', d.doc) INTO answer
          FROM agentd_documents d
          WHERE d.kind = one->>1 AND d.key = one->>2 AND (d.expires_at IS NULL OR d.expires_at > time);
        WHEN 'first' THEN
          SELECT json_agg(json_build_object('key', f.key, 'version', f.version::text, 'doc', f.doc)
                          ORDER BY f.score, f.tie, f.key) INTO answer
          FROM (
            SELECT p.score, p.tie, d.key, d.version, d.doc
            FROM agentd_places p JOIN agentd_documents d ON d.kind = p.kind AND d.key = p.key
            WHERE p.kind = one->>1 AND p.index_name = one->>2 AND (d.expires_at IS NULL OR d.expires_at > time)
            ORDER BY p.score, p.tie, p.key LIMIT (one->>3)::bigint
          ) f;
        WHEN 'count' THEN
          SELECT to_json(count(*)) INTO answer FROM agentd_places p
          WHERE p.kind = one->>1 AND p.index_name = one->>2;
        WHEN 'items' THEN
          SELECT json_agg(i.item ORDER BY i.position) INTO answer FROM agentd_items i
          WHERE i.kind = one->>1 AND i.key = one->>2 AND i.position >= (one->>3)::integer;
        WHEN 'time' THEN NULL;
      END CASE;
      answers := answers || coalesce(answer, 'null'::json);
    END LOOP;
    results := results || json_build_object(
      'now', time, 'serial', nextval('agentd_serial')::text, 'answers', array_to_json(answers));
  END LOOP;
  RETURN array_to_json(results);
END $$;

-- Stores the changes of a step, if each document that it has read still has the version that it has read ('0': absent).
CREATE FUNCTION agentd_store(checks json, writes json, now_ms bigint, told json) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  one json;
  found_version text;
BEGIN
  FOR one IN SELECT * FROM json_array_elements(checks) LOOP
    CONTINUE WHEN one->>2 IS NULL;
    SELECT d.version::text INTO found_version FROM agentd_documents d
    WHERE d.kind = one->>0 AND d.key = one->>1 AND (d.expires_at IS NULL OR d.expires_at > now_ms);
    IF coalesce(found_version, '0') <> one->>2 THEN RETURN false; END IF;
  END LOOP;
  FOR one IN SELECT * FROM json_array_elements(writes) LOOP
    CASE one->>0
      WHEN 'put' THEN
        -- The list of an expired document ends with it.
        DELETE FROM agentd_documents d WHERE d.kind = one->>1 AND d.key = one->>2 AND d.expires_at <= now_ms;
        INSERT INTO agentd_documents AS d (kind, key, doc, expires_at, version)
        VALUES (one->>1, one->>2, one->>3, (one->>4)::bigint, nextval('agentd_serial'))
        ON CONFLICT (kind, key) DO UPDATE
          SET doc = excluded.doc, expires_at = excluded.expires_at, version = excluded.version;
        IF one->>5 IS NOT NULL THEN
          DELETE FROM agentd_places p WHERE p.kind = one->>1 AND p.key = one->>2;
          INSERT INTO agentd_places (kind, index_name, score, tie, key)
          SELECT one->>1, p->>0, (p->>1)::double precision, (p->>2)::double precision, one->>2
          FROM json_array_elements(one->5) p;
        END IF;
      WHEN 'delete' THEN
        DELETE FROM agentd_documents d WHERE d.kind = one->>1 AND d.key = one->>2;
      WHEN 'rewrite' THEN
        DELETE FROM agentd_items i WHERE i.kind = one->>1 AND i.key = one->>2;
        UPDATE agentd_documents d SET version = nextval('agentd_serial') WHERE d.kind = one->>1 AND d.key = one->>2;
        INSERT INTO agentd_items (kind, key, position, item)
        SELECT one->>1, one->>2, t.n - 1, t.item FROM json_array_elements_text(one->3) WITH ORDINALITY t (item, n);
      WHEN 'append' THEN
        UPDATE agentd_documents d SET version = nextval('agentd_serial') WHERE d.kind = one->>1 AND d.key = one->>2;
        INSERT INTO agentd_items (kind, key, position, item)
        SELECT one->>1, one->>2, s.start + t.n - 1, t.item
        FROM json_array_elements_text(one->3) WITH ORDINALITY t (item, n),
             (SELECT coalesce(max(i.position) + 1, 0) AS start FROM agentd_items i
              WHERE i.kind = one->>1 AND i.key = one->>2) s;
      WHEN 'log' THEN
        INSERT INTO agentd_records (ring, kept_at, record, ids)
        SELECT one->>1, now_ms, one->>2, array(SELECT json_array_elements_text(one->3));
    END CASE;
  END LOOP;
  PERFORM pg_notify('agentd', t) FROM json_array_elements_text(told) t;
  RETURN true;
END $$;

-- Stores the changes of several steps, in their order. steps: [[checks, writes, now_ms, told], …]. Locks are taken in one
-- order, so that no transaction waits for another in a circle. Returns which of the steps are stored.
CREATE FUNCTION agentd_commit(steps json) RETURNS boolean[] LANGUAGE plpgsql AS $$
DECLARE
  lock bigint;
  step json;
  stored boolean[] := '{}';
BEGIN
  FOR lock IN
    SELECT DISTINCT hashtextextended((c->>0) || ' ' || (c->>1), 0) AS h
    FROM json_array_elements(steps) s, json_array_elements(s->0) c ORDER BY h
  LOOP
    PERFORM pg_advisory_xact_lock(lock);
  END LOOP;
  FOR step IN SELECT * FROM json_array_elements(steps) LOOP
    stored := stored || agentd_store(step->0, step->1, (step->>2)::bigint, step->3);
  END LOOP;
  RETURN stored;
END $$;
