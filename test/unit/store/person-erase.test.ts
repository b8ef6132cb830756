import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { aSession } from '../../contract/fixtures.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { findCanaries } from '../../support/canary.ts';
import { aResident, fillAsPerson, fillAsUser, PLATFORM, speakInThread } from '../../support/person-world.ts';

// agentd-person(1): after an erasure, no file of the store contains a byte of the person's data. That the data of
// others stays is in test/contract.

const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;
let time = Date.UTC(2030, 0, 1);
const clock = { now: () => time };
const ada = aResident('Ada');
const bob = aResident('Bob');
let folder: string;
let path: string;
let daemon: SqliteStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentd-person-'));
  path = join(folder, 'agentd.db');
  daemon = open('daemon');
});
afterEach(async () => {
  await daemon.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(role: 'daemon' | 'administrator'): SqliteStore {
  return openSqliteStore(path, { role, clock, traceRetentionMs: 1000 });
}

function files(): Map<string, Buffer> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

function found(name: string): string[] {
  // The words of the memory index are in lower case.
  const writings = [name, name.toLowerCase()].map((value) => ({ name: value, value }));
  return findCanaries(writings, files());
}

/** Erases a person of whom nothing is stored, which moves everything out of the journal. */
async function emptyJournal({ persons }: SqliteStore): Promise<void> {
  await persons?.erase({ platform: PLATFORM, user_id: 'nobody' });
}

describe('an erasure while a daemon runs', () => {
  it('leaves no byte of the person in any file of the store, and the words of others in the index of memories', async () => {
    for (let round = 0; round < 2; round++) {
      for (const one of round === 0 ? [ada, bob] : []) {
        await fillAsPerson(daemon, clock.now(), one);
        await fillAsUser(daemon, clock.now(), one);
      }
      await speakInThread(daemon, clock.now(), ada, ada.person);
    }
    for (const copy of ['before-restore', 'before-restore-2', 'before-restore-wal', 'restored'])
      copyFileSync(`${path}${copy.endsWith('wal') ? '-wal' : ''}`, `${path}.${copy}`);
    expect(found(ada.canary).length).toBeGreaterThan(2);

    const administrator = open('administrator');
    const { persons } = administrator;
    const [asPerson, asUser] = [
      { person: ada.person, link_keys: [`${PLATFORM}:jwt:${ada.user_id}`] },
      { platform: PLATFORM, user_id: ada.user_id },
    ];
    await persons?.erase(asPerson);
    await persons?.erase(asUser);
    expect(found(ada.canary)).toEqual([]);

    expect(readdirSync(folder).filter((name) => /backup|restore/.test(name))).toEqual([]);
    expect(existsSync(path)).toBe(true);
    expect(await administrator.maintenance.examine()).toEqual([]);
    await administrator.close();
    // The daemon now writes its in-memory state, which must not bring back data of the person.
    await daemon.limits.hit(`http:person:${bob.person}`, { max: 5, window_ms: 1000 });
    await daemon.check();
    expect(found(ada.canary)).toEqual([]);

    const query = { text: `remember${bob.canary}`, words: 'every', limit: 5 } as const;
    expect(await daemon.memories?.search({ key: bob.person, alias: null }, query)).toHaveLength(1);
  });

  it('leaves no byte of what had expired before and was not swept yet', async () => {
    await fillAsPerson(daemon, clock.now(), ada);
    await fillAsUser(daemon, clock.now(), ada);
    const administrator = open('administrator');
    await emptyJournal(administrator);
    time += 2 * DAY;
    expect(found(ada.canary)).not.toEqual([]);
    await administrator.persons?.erase({ person: ada.person, link_keys: [] });
    await administrator.persons?.erase({ platform: PLATFORM, user_id: ada.user_id });
    await administrator.close();
    expect(found(ada.canary)).toEqual([]);
  });

  it('leaves no byte of what had expired before the time at which the sweeper will look at it again', async () => {
    const session = aSession(clock.now(), { session_id: `s-${ada.canary}`, owner: ada.person });
    const administrator = open('administrator');
    await saveSession(daemon, session);
    for (const seconds of [100, 80]) {
      await keepTurn(daemon, session, { person: ada.person, text: ada.canary }, seconds * SECOND);
      await emptyJournal(administrator);
      time += 50 * SECOND;
    }
    time += SECOND;
    await daemon.maintenance.sweep();
    time += 40 * SECOND;
    expect(await daemon.sessions.find(session.session_id)).toBeNull();
    await daemon.maintenance.sweep();
    expect(found(ada.canary)).not.toEqual([]);
    await administrator.persons?.erase({ person: ada.person, link_keys: [] });
    await administrator.close();
    expect(found(ada.canary)).toEqual([]);
  });

  it('leaves no word in the index of memories, and no copy of a row that was moved between pages', async () => {
    const ownerOf = (one: typeof ada) => ({ key: one.person, alias: null });
    const sizes = Array.from({ length: 150 }, (_, place) => 40 + ((place * 733) % 3000));
    for (const [place, size] of sizes.entries()) {
      for (const one of [ada, bob]) {
        const text = `${place}word${one.canary} ${'x '.repeat(size / 2)}`;
        await daemon.memories?.add(ownerOf(one), { text, turn_id: 't', tainted: false });
        const user_id = `${place % 7}${one.canary}`;
        const session = aSession(clock.now(), {
          session_id: `${user_id}-${place}`,
          user_id,
          owner: one.person,
        });
        await saveSession(daemon, session);
        await keepTurn(daemon, session, { user_id, person: one.person, text });
      }
    }
    expect(found(`word${ada.canary}`)).not.toEqual([]);
    const administrator = open('administrator');
    await administrator.persons?.erase({ person: ada.person, link_keys: [] });
    await administrator.close();
    expect(found(ada.canary)).toEqual([]);
    expect(await daemon.memories?.list(ownerOf(bob))).toHaveLength(150);
  });
});
