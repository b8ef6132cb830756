import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
import { dueAt } from '../due-at.ts';
import type { Outage, OutageReason, OutageStore } from '../outages.ts';
import { type GroupCommit, read } from './writer.ts';

/** Platforms that cannot be reached, one row for each. */
export class SqliteOutages implements OutageStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #list;
  readonly #note;
  readonly #takeProbe;
  readonly #hurry;
  readonly #end;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#list = db.prepare<[], Outage & { wait_ms: number }>(
      'SELECT platform, reason, words, since, probes, probe_at, wait_ms FROM outages',
    );
    this.#note = db.prepare<{
      platform: string;
      reason: string;
      words: string;
      now: number;
      probe_in_ms: number;
    }>(
      `INSERT INTO outages (platform, reason, words, since, probes, probe_at, wait_ms)
       VALUES (@platform, @reason, @words, @now, 0, @now + @probe_in_ms, @probe_in_ms)
       ON CONFLICT DO UPDATE SET reason = excluded.reason, words = excluded.words, probes = probes + 1,
         probe_at = excluded.probe_at, wait_ms = excluded.wait_ms`,
    );
    this.#takeProbe = db.prepare<{ platform: string; now: number; lease_ms: number }>(
      `UPDATE outages SET probe_at = @now + @lease_ms, wait_ms = @lease_ms
       WHERE platform = @platform AND (probe_at <= @now OR probe_at - @now > wait_ms)`,
    );
    this.#hurry = db.prepare<[number, string]>(
      'UPDATE outages SET probe_at = ?, wait_ms = 0 WHERE platform = ?',
    );
    this.#end = db.prepare<[string]>('DELETE FROM outages WHERE platform = ?');
  }

  list(): Promise<Outage[]> {
    return read(() => {
      const now = this.#clock.now();
      return this.#list
        .all()
        .map(({ wait_ms, ...outage }) => ({ ...outage, probe_at: dueAt(outage.probe_at, wait_ms, now) }));
    });
  }

  note(platform: string, reason: OutageReason, words: string, probe_in_ms: number): Promise<void> {
    return this.#commit.write(() => {
      this.#note.run({ platform, reason, words, now: this.#clock.now(), probe_in_ms });
    });
  }

  takeProbe(platform: string, lease_ms: number): Promise<boolean> {
    return this.#commit.write(
      () => this.#takeProbe.run({ platform, now: this.#clock.now(), lease_ms }).changes > 0,
    );
  }

  hurry(platform: string): Promise<boolean> {
    return this.#commit.write(() => this.#hurry.run(this.#clock.now(), platform).changes > 0);
  }

  end(platform: string): Promise<boolean> {
    return this.#commit.write(() => this.#end.run(platform).changes > 0);
  }
}
