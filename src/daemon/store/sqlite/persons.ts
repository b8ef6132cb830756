import type Database from 'better-sqlite3';
import { tagOf } from '../../session/session.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { Action } from '../actions.ts';
import type { StoredAnswer } from '../idempotency.ts';
import { PersonMatch } from '../person-match.ts';
import type { PersonRecords, PersonSelector, PersonSession, PersonStore } from '../persons.ts';
import type { StreamRecord, StreamStart } from '../streams.ts';
import { ACTION_COLUMNS } from './actions.ts';
import type { ErasedIds } from './erased-ids.ts';
import { COLUMNS as INBOX_COLUMNS, type InboxRow, messageOf } from './inbox-row.ts';
import { LINK_COLUMNS, type LinkRow, linkOf } from './links.ts';
import { PersonLogs } from './person-logs.ts';
import { PersonTurns } from './person-turns.ts';
import { scrub } from './scrub.ts';
import { SESSION_COLUMNS, type SessionRow, sessionOf } from './session-row.ts';
import { type GroupCommit, read } from './writer.ts';

type StreamRow = Pick<StreamRecord, 'owner' | 'reader'> & { id: number; start: string };

/** The tables from which rows are deleted, each with the column that identifies its rows. */
const KEYS = {
  links: 'key',
  actions: 'action_id',
  inbox: 'id',
  traces: 'id',
  refused_traces: 'id',
  streams: 'id',
  answers: 'key',
  guard_turns: 'session_id',
  budgets: 'key',
} as const;
type Table = keyof typeof KEYS;

interface Found {
  match: PersonMatch;
  /** The sessions, each with the id of its row. */
  sessions: (PersonSession & { id: number })[];
  rows: Record<Table, (string | number)[]>;
  seen: { platform: string; message_id: string }[];
  guard_keys: Set<string>;
  limit_keys: Set<string>;
  records: PersonRecords;
}

/**
 * Finds and deletes everything that is stored about a person. It reads every table once. Administrators rarely use it,
 * so no table has an index for it.
 */
export class SqlitePersons implements PersonStore {
  readonly #db: Database.Database;
  readonly #commit: GroupCommit;
  readonly #erased: ErasedIds;
  readonly #turns: PersonTurns;
  readonly #logs: PersonLogs;
  readonly #sessions;
  readonly #links;
  readonly #actions;
  readonly #inbox;
  readonly #traces;
  readonly #streams;
  readonly #answers;
  readonly #seen;
  readonly #guardTurns;
  readonly #budgets;
  readonly #summaries;
  readonly #delete;
  readonly #deleteSeen;
  readonly #deleteOwner;

  constructor(db: Database.Database, commit: GroupCommit, erased: ErasedIds) {
    this.#erased = erased;
    this.#db = db;
    this.#commit = commit;
    this.#turns = new PersonTurns(db);
    this.#logs = new PersonLogs(db);
    this.#sessions = db.prepare<[], SessionRow & { id: number }>(
      `SELECT id, ${SESSION_COLUMNS} FROM sessions ORDER BY last_active_at DESC, id DESC`,
    );
    this.#links = db.prepare<[], LinkRow>(`SELECT ${LINK_COLUMNS} FROM links ORDER BY key`);
    this.#actions = db.prepare<[], Action>(`SELECT ${ACTION_COLUMNS} FROM actions ORDER BY id DESC`);
    this.#inbox = db.prepare<[], InboxRow>(`SELECT ${INBOX_COLUMNS} FROM inbox ORDER BY seq DESC`);
    const traces = (table: string) =>
      db.prepare<[], { id: number; trace: string }>(`SELECT id, trace FROM ${table}`);
    this.#traces = { traces: traces('traces'), refused_traces: traces('refused_traces') };
    this.#streams = db.prepare<[], StreamRow>('SELECT id, owner, reader, start FROM streams');
    this.#answers = db.prepare<[], { key: string; answer: string }>('SELECT key, answer FROM answers');
    this.#seen = db.prepare<[], { platform: string; message_id: string; user_id: string | null }>(
      'SELECT platform, message_id, user_id FROM known_messages',
    );
    this.#guardTurns = db.prepare<[], string>('SELECT session_id FROM guard_turns').pluck();
    this.#budgets = db.prepare<[], string>('SELECT key FROM budgets').pluck();
    this.#summaries = db
      .prepare<[number], number>('SELECT count(*) FROM summaries WHERE session = ?')
      .pluck();
    this.#delete = Object.fromEntries(
      Object.entries(KEYS).map(([table, key]) => [
        table,
        db.prepare(`DELETE FROM ${table} WHERE ${key} = ?`),
      ]),
    ) as Record<Table, Database.Statement<[string | number]>>;
    this.#deleteSeen = db.prepare<[string, string]>(
      'DELETE FROM known_messages WHERE platform = ? AND message_id = ?',
    );
    this.#deleteOwner = db.prepare<[string]>('DELETE FROM memory_owners WHERE owner = ?');
  }

  show(of: PersonSelector): Promise<PersonRecords> {
    return read(() => this.#find(of).records);
  }

  async erase(of: PersonSelector): Promise<PersonRecords> {
    const records = await this.#commit.write(() => {
      const found = this.#find(of);
      this.#deleteAll(found);
      this.#deleteOwner.run('person' in of ? of.person : `${of.platform}:${of.user_id}`);
      this.#commit.reloadResidents();
      return found.records;
    });
    await scrub(this.#db);
    return records;
  }

  #find(of: PersonSelector): Found {
    const match = new PersonMatch(of);
    const sessions = this.#sessions.all().flatMap(({ id, ...row }) => {
      const found = match.session(sessionOf(row), this.#turns.of(id));
      return found ? [{ ...found, id }] : [];
    });
    const guard_keys = this.#logs.guardKeys(match);
    const answers = this.#answers
      .all()
      .filter(({ key, answer }) => match.answer(key, JSON.parse(answer) as StoredAnswer))
      .map(({ key }) => key);
    const links = this.#links
      .all()
      .map(linkOf)
      .filter((link) => match.link(link));
    const actions = this.#actions.all().filter((action) => match.action(action));
    const inbox = this.#inbox
      .all()
      .map(messageOf)
      .filter((message) => match.inbox(message));
    const tracesIn = (table: 'traces' | 'refused_traces') =>
      idsOf(this.#traces[table], ({ trace }) => match.trace(JSON.parse(trace) as TraceRecord));
    const rows: Found['rows'] = {
      links: links.map(({ key }) => key),
      actions: actions.map(({ action_id }) => action_id),
      inbox: inbox.map(({ id }) => id),
      traces: tracesIn('traces'),
      refused_traces: tracesIn('refused_traces'),
      streams: idsOf(this.#streams, ({ start, ...row }) =>
        match.stream({ ...row, start: JSON.parse(start) as StreamStart }),
      ),
      answers,
      guard_turns: this.#guardTurns.all().filter((tag) => match.guardTurns(tag)),
      budgets: this.#budgets.all().filter((key) => match.budget(key)),
    };
    const seen = this.#seen
      .all()
      .filter(({ platform, message_id, user_id }) => match.seenMessage(platform, message_id, user_id));
    const limit_keys = this.#logs.limitKeys(match);
    const others = {
      summaries: sessions.reduce((sum, { id }) => sum + (this.#summaries.get(id) ?? 0), 0),
      traces: rows.traces.length + rows.refused_traces.length,
      streams: rows.streams.length,
      answers: rows.answers.length,
      seen_messages: seen.length,
      guard: guard_keys.size + rows.guard_turns.length,
      limits: limit_keys.size,
      budgets: rows.budgets.length,
    };
    const shown = sessions.map((session) => match.shown(session));
    const records = { sessions: shown, links, actions, inbox, others };
    return { match, sessions, rows, seen, guard_keys, limit_keys, records };
  }

  #deleteAll({ match, sessions, rows, seen, guard_keys, limit_keys, records }: Found): void {
    // The ids of the sessions are recorded in the same commit. After that, a run that is under way cannot add anything
    // to these sessions.
    for (const { id, shared, session, turns } of sessions) {
      if (shared) this.#turns.deleteFrom(id, turns, match.untied(session));
      else {
        this.#turns.deleteAll(id);
        for (const name of [session.session_id, tagOf(session)]) this.#erased.note(name);
      }
    }
    for (const message of records.inbox) {
      this.#erased.note(message.id);
      const tag = match.runsIn(message);
      if (tag !== null) this.#erased.note(tag);
    }
    for (const [table, keys] of Object.entries(rows) as [Table, (string | number)[]][])
      for (const key of keys) this.#delete[table].run(key);
    for (const { platform, message_id } of seen) this.#deleteSeen.run(platform, message_id);
    this.#logs.delete('guard', guard_keys);
    this.#logs.delete('limits', limit_keys);
  }
}

/** Returns the ids of the selected rows. Reads one row at a time, because a table may be large. */
function idsOf<Row extends { id: number }>(
  rows: Database.Statement<[], Row>,
  isTheirs: (row: Row) => boolean,
): number[] {
  const ids: number[] = [];
  for (const row of rows.iterate()) if (isTheirs(row)) ids.push(row.id);
  return ids;
}
