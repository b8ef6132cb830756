import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRedisStore } from '../../../src/daemon/store/kernels/redis/store.ts';
import { FilesNotRewritten } from '../../../src/daemon/store/persons/persons.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { anAction, aSession, aTrace } from '../../contract/fixtures.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { findCanaries } from '../../support/canary.ts';
import { aResident, fillAsPerson, fillAsUser, PLATFORM, speakInThread } from '../../support/person-world.ts';
import { hasRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';

// agentd-person(1) with Redis: after an erasure, no key and no file of the server contains a byte of the person.
// That the data of others stays is in test/contract.

const HOUR = 60 * 60 * 1000;
const ada = aResident('Ada');
const bob = aResident('Bob');
const asPerson = { person: ada.person, link_keys: [`${PLATFORM}:jwt:${ada.user_id}`] };
const asUser = { platform: PLATFORM, user_id: ada.user_id };

describe.skipIf(!hasRedis)('an erasure on a real Redis server', () => {
  let redis: RedisServer;
  let store: Store;
  let administrator: Store;
  const open = () => openRedisStore({ url: redis.url, traceRetentionMs: HOUR });

  beforeAll(async () => {
    // Values are searched as they are dumped.
    const plain = ['--rdbcompression', 'no', '--enable-debug-command', 'yes'];
    redis = await startRedis([
      '--save',
      '3600 1',
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
      ...plain,
    ]);
    store = await open();
    administrator = await open();
  });
  afterAll(async () => {
    await Promise.all([store.close(), administrator.close()]);
    await redis.stop();
  });

  /** All files in the directory of the server, keyed by file name. */
  function files(): Map<string, Buffer> {
    const names = readdirSync(redis.directory, { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    // The server deletes its temporary files while they are listed.
    const there = names
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => existsSync(path));
    return new Map(there.map((path) => [basename(path), readFileSync(path)]));
  }
  const inFiles = (name: string) => findCanaries([{ name, value: name }], files());
  /** The keys that contain the name, in the key itself or in its value. */
  async function inKeys(name: string): Promise<string[]> {
    const keys = await redis.client.keys('*');
    const dumps = await Promise.all(keys.map((key) => redis.client.dumpBuffer(key)));
    return keys.filter((key, place) => key.includes(name) || dumps[place]?.includes(name));
  }

  it('leaves no byte of the person in a key, in the log or in the snapshot', async () => {
    for (const one of [ada, bob]) {
      await fillAsPerson(store, Date.now(), one);
      await fillAsUser(store, Date.now(), one);
      await speakInThread(store, Date.now(), one, one.person);
    }
    await redis.client.bgsave('SCHEDULE');
    expect(inFiles(ada.canary)).not.toEqual([]);

    await administrator.persons?.erase(asPerson);
    await administrator.persons?.erase(asUser);
    expect(await inKeys(ada.canary)).toEqual([]);
    // The server uses another thread to delete the files that it has replaced.
    await expect.poll(() => inFiles(ada.canary)).toEqual([]);
    expect(await inKeys(bob.canary)).not.toEqual([]);
  });

  it('removes the ids of expired records from the indexes', async () => {
    const dora = aResident('Dora');
    const action = anAction({ person: dora.person, platform: PLATFORM, user_id: dora.user_id });
    const late = anAction({ person: dora.person, platform: PLATFORM, user_id: dora.user_id });
    const brief = await openRedisStore({ url: redis.url, traceRetentionMs: HOUR, actionsRetentionMs: 20 });
    await brief.actions.start(null, { ...action, turn_key: `turn of ${dora.canary}` });
    await brief.close();
    await store.actions.start(null, late);
    // The record expires, but its id is still in the indexes.
    await expect.poll(() => redis.client.exists(`agentd:{store}:action:${action.action_id}`)).toBe(0);
    await administrator.persons?.erase({ person: dora.person, link_keys: [] });
    expect(await inKeys(dora.canary)).toEqual([]);
  });

  it('fails if the server does not rewrite its files, but deletes the keys', async () => {
    await redis.client.call('ACL', 'SETUSER', 'default', '-bgrewriteaof');
    await keepTurnOf('Eve');
    await expect(
      administrator.persons?.erase({ person: aResident('Eve').person, link_keys: [] }),
    ).rejects.toThrow(FilesNotRewritten);
    await redis.client.call('ACL', 'SETUSER', 'default', '+bgrewriteaof');
    expect(await inKeys(aResident('Eve').canary)).toEqual([]);
  });

  it('leaves nothing of what has expired, but was not deleted by the server yet', async () => {
    await redis.client.call('DEBUG', 'SET-ACTIVE-EXPIRE', '0');
    const gil = aResident('Gil');
    const session = aSession(Date.now(), { session_id: `s-${gil.canary}`, owner: gil.person });
    await saveSession(store, session);
    await keepTurn(store, session, { person: gil.person, text: gil.canary }, 20);
    await expect.poll(() => store.sessions.find(session.session_id)).toBeNull();
    const { persons } = administrator;
    await persons?.erase({ person: gil.person, link_keys: [] });
    await redis.client.call('DEBUG', 'SET-ACTIVE-EXPIRE', '1');
    await expect.poll(() => inFiles(`"text":"${gil.canary}`)).toEqual([]);
  });

  it('leaves nothing of traces that are kept no longer, but are not deleted yet', async () => {
    const fay = aResident('Fay');
    const trace = aTrace(null, { user_id: fay.user_id, platform: PLATFORM });
    await store.traces.keep(trace);
    expect(await inKeys(fay.canary)).not.toEqual([]);
    const brief = await openRedisStore({ url: redis.url, traceRetentionMs: 20 });
    await expect.poll(() => brief.traces.find(trace.turn_id)).toEqual([]);
    await brief.persons?.erase({ platform: PLATFORM, user_id: fay.user_id });
    await brief.close();
    expect(await inKeys(fay.canary)).toEqual([]);
  });

  async function keepTurnOf(name: string): Promise<void> {
    const { canary, person, user_id } = aResident(name);
    const session = aSession(Date.now(), { session_id: `s-${canary}`, user_id, owner: person });
    await saveSession(store, session);
    await keepTurn(store, session, { user_id, person, text: canary });
  }
});
