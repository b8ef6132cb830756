import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRedisStore } from '../../../src/daemon/store/kernels/redis/store.ts';
import { FilesNotRewritten } from '../../../src/daemon/store/persons/persons.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { anAction, aSession } from '../../contract/fixtures.ts';
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
    redis = await startRedis(['--save', '3600 1', '--appendonly', 'yes', '--appendfsync', 'always']);
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

  async function keepTurnOf(name: string): Promise<void> {
    const { canary, person, user_id } = aResident(name);
    const session = aSession(Date.now(), { session_id: `s-${canary}`, user_id, owner: person });
    await saveSession(store, session);
    await keepTurn(store, session, { user_id, person, text: canary });
  }
});
