-- Whether a summary was made of turns that had read results of tools of an origin other than that of API_BASE_URL. Of
-- older summaries this is not known, so they count as such.
ALTER TABLE summaries ADD COLUMN tainted INTEGER NOT NULL DEFAULT 1;
