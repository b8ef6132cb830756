-- Documents, their places in ordered indexes, and their lists. Times are ms since the epoch. Keys are compared byte by
-- byte, so that no update of a collation can damage an index.
CREATE TABLE agentd_documents (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  -- The name of the document as JSON, if `key` is only its hash.
  name text,
  doc text NOT NULL,
  expires_at bigint,
  -- Different after each change.
  version bigint NOT NULL,
  PRIMARY KEY (kind, key)
);
CREATE INDEX agentd_documents_expiry ON agentd_documents (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE agentd_places (
  kind text COLLATE "C" NOT NULL,
  index_name text COLLATE "C" NOT NULL,
  score double precision NOT NULL,
  tie double precision NOT NULL,
  key text COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, index_name, score, tie, key),
  FOREIGN KEY (kind, key) REFERENCES agentd_documents ON DELETE CASCADE
);
CREATE INDEX agentd_places_of ON agentd_places (kind, key);

CREATE TABLE agentd_items (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  position integer NOT NULL,
  item text NOT NULL,
  PRIMARY KEY (kind, key, position),
  FOREIGN KEY (kind, key) REFERENCES agentd_documents ON DELETE CASCADE
);

-- Logs of bounded size.
CREATE TABLE agentd_records (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ring text COLLATE "C" NOT NULL,
  kept_at bigint NOT NULL,
  record text NOT NULL,
  ids text[] COLLATE "C" NOT NULL
);
CREATE INDEX agentd_records_ring ON agentd_records (ring, id);
CREATE INDEX agentd_records_ids ON agentd_records USING gin (ids);

-- The statistics of the planner are samples of the values, which an erasure of a person does not reach. Each key is
-- looked up in an index, so that no plan needs them.
ALTER TABLE agentd_documents ALTER key SET STATISTICS 0, ALTER name SET STATISTICS 0, ALTER doc SET STATISTICS 0;
ALTER TABLE agentd_places ALTER index_name SET STATISTICS 0, ALTER key SET STATISTICS 0;
ALTER TABLE agentd_items ALTER key SET STATISTICS 0, ALTER item SET STATISTICS 0;
ALTER TABLE agentd_records ALTER record SET STATISTICS 0, ALTER ids SET STATISTICS 0;

-- Numbers of steps.
CREATE SEQUENCE agentd_serial;

-- Reads what several steps want, in one trip. steps: [[wanted, now_ms], …]; now_ms: the time of the step, null for the
-- time of the server. Numbers are given to the steps in their order. STABLE: all that one call reads is of one moment.
CREATE FUNCTION agentd_read(steps jsonb) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  server_time bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  step jsonb;
  time bigint;
  one jsonb;
  answer json;
  answers json[];
  results json[] := '{}';
BEGIN
  FOR step IN SELECT * FROM jsonb_array_elements(steps) LOOP
    time := coalesce((step->>1)::bigint, server_time);
    answers := '{}';
    FOR one IN SELECT * FROM jsonb_array_elements(step->0) LOOP
      answer := NULL;
      CASE one->>0
        WHEN 'document' THEN
          SELECT json_build_object('version', d.version, 'doc', d.doc) INTO answer
          FROM agentd_documents d
          WHERE d.kind = one->>1 AND d.key = one->>2 AND (d.expires_at IS NULL OR d.expires_at > time);
        WHEN 'first' THEN
          SELECT json_agg(json_build_object('key', f.key, 'name', f.name, 'version', f.version, 'doc', f.doc)
                          ORDER BY f.score, f.tie, f.key) INTO answer
          FROM (
            SELECT p.score, p.tie, d.key, d.name, d.version, d.doc
            FROM agentd_places p JOIN agentd_documents d ON d.kind = p.kind AND d.key = p.key
            WHERE p.kind = one->>1 AND p.index_name = one->>2 AND (d.expires_at IS NULL OR d.expires_at > time)
            ORDER BY p.score, p.tie, p.key LIMIT (one->>3)::bigint
          ) f;
        WHEN 'count' THEN
          -- Only expired documents that are not deleted yet are looked up: they are few.
          SELECT to_json(
            (SELECT count(*) FROM agentd_places p WHERE p.kind = one->>1 AND p.index_name = one->>2)
            - (SELECT count(*) FROM agentd_documents d JOIN agentd_places p ON p.kind = d.kind AND p.key = d.key
               WHERE d.expires_at <= time AND d.kind = one->>1 AND p.index_name = one->>2)
          ) INTO answer;
        WHEN 'list' THEN
          -- From a place on, or the last ones if that is negative.
          SELECT json_agg(l.item ORDER BY l.position) INTO answer
          FROM (
            SELECT i.item, i.position FROM agentd_items i
            WHERE i.kind = one->>1 AND i.key = one->>2 AND i.position >= (one->>3)::integer
            ORDER BY i.position DESC LIMIT CASE WHEN (one->>3)::integer < 0 THEN -(one->>3)::integer END
          ) l;
      END CASE;
      answers := answers || coalesce(answer, 'null'::json);
    END LOOP;
    results := results || json_build_object(
      'now', time, 'serial', nextval('agentd_serial'), 'answers', array_to_json(answers));
  END LOOP;
  RETURN array_to_json(results);
END $$;

-- Stores the changes of a step, if each document that it has read still has the version that it has read (0: absent).
CREATE FUNCTION agentd_store(checks jsonb, writes jsonb, now_ms bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  one jsonb;
  found_version bigint;
BEGIN
  FOR one IN SELECT * FROM jsonb_array_elements(checks) LOOP
    SELECT d.version INTO found_version FROM agentd_documents d
    WHERE d.kind = one->>0 AND d.key = one->>1 AND (d.expires_at IS NULL OR d.expires_at > now_ms);
    IF coalesce(found_version, 0) <> (one->>2)::bigint THEN RETURN false; END IF;
  END LOOP;
  FOR one IN SELECT * FROM jsonb_array_elements(writes) LOOP
    CASE one->>0
      WHEN 'put' THEN
        -- The list of an expired document ends with it.
        DELETE FROM agentd_documents d WHERE d.kind = one->>1 AND d.key = one->>2 AND d.expires_at <= now_ms;
        INSERT INTO agentd_documents AS d (kind, key, name, doc, expires_at, version)
        VALUES (one->>1, one->>2, one->>7, one->>3, (one->>4)::bigint, (one->>6)::bigint)
        ON CONFLICT (kind, key) DO UPDATE
          SET doc = excluded.doc, expires_at = excluded.expires_at, version = excluded.version;
        IF one->>5 IS NOT NULL THEN
          DELETE FROM agentd_places p WHERE p.kind = one->>1 AND p.key = one->>2;
          INSERT INTO agentd_places (kind, index_name, score, tie, key)
          SELECT one->>1, p->>0, (p->>1)::double precision, (p->>2)::double precision, one->>2
          FROM jsonb_array_elements(one->5) p;
        END IF;
      WHEN 'delete' THEN
        DELETE FROM agentd_documents d WHERE d.kind = one->>1 AND d.key = one->>2;
      WHEN 'rewrite' THEN
        DELETE FROM agentd_items i WHERE i.kind = one->>1 AND i.key = one->>2;
        INSERT INTO agentd_items (kind, key, position, item)
        SELECT one->>1, one->>2, t.n - 1, t.item FROM jsonb_array_elements_text(one->3) WITH ORDINALITY t (item, n);
      WHEN 'append' THEN
        INSERT INTO agentd_items (kind, key, position, item)
        SELECT one->>1, one->>2, s.start + t.n - 1, t.item
        FROM jsonb_array_elements_text(one->3) WITH ORDINALITY t (item, n),
             (SELECT coalesce(max(i.position) + 1, 0) AS start FROM agentd_items i
              WHERE i.kind = one->>1 AND i.key = one->>2) s;
      WHEN 'log' THEN
        INSERT INTO agentd_records (ring, kept_at, record, ids)
        SELECT one->>1, now_ms, one->>2, array(SELECT jsonb_array_elements_text(one->3));
    END CASE;
  END LOOP;
  RETURN true;
END $$;

-- Stores the changes of several steps, in their order. steps: [[checks, writes, now_ms], …]. Locks are taken in one
-- order, so that no transaction waits for another in a circle. They are those of one schema: other deployments in the
-- database have their own. Returns which of the steps are stored. READ COMMITTED is needed: what is checked is read
-- after the locks are held.
CREATE FUNCTION agentd_commit(steps jsonb) RETURNS boolean[] LANGUAGE plpgsql AS $$
DECLARE
  seed bigint := hashtextextended(current_schema(), 0);
  locks bigint[];
  lock bigint;
  step jsonb;
  stored boolean[] := '{}';
BEGIN
  SELECT coalesce(array_agg(h ORDER BY h), '{}') INTO locks FROM (
    SELECT DISTINCT hashtextextended((c->>0) || ' ' || (c->>1), seed) AS h
    FROM jsonb_array_elements(steps) s, jsonb_array_elements(s->0) c) l;
  -- The server has room for a few thousand locks (max_locks_per_transaction). Many changes take one lock for them all.
  IF cardinality(locks) > 500 THEN
    PERFORM pg_advisory_xact_lock(seed);
  ELSE
    PERFORM pg_advisory_xact_lock_shared(seed);
    FOREACH lock IN ARRAY locks LOOP
      PERFORM pg_advisory_xact_lock(lock);
    END LOOP;
  END IF;
  FOR step IN SELECT * FROM jsonb_array_elements(steps) LOOP
    stored := stored || agentd_store(step->0, step->1, (step->>2)::bigint);
  END LOOP;
  RETURN stored;
END $$;

-- The channel of LISTEN and NOTIFY. Channels belong to the database, so the name tells the schema.
CREATE FUNCTION agentd_channel() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 'agentd_' || md5(current_schema())
$$;
