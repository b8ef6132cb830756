import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { findCanaries } from '../support/canary.ts';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// agentd-person(1): an erasure also finds people whom the agent has never answered, on every channel.

describe.each([
  { backend: 'sqlite', isHere: true },
  { backend: 'redis', isHere: hasRedis },
])('an erasure with $backend', ({ backend, isHere }) => {
  const directory = temporaryFolder('erase');
  const platforms = new Map<string, FakePlatform>();
  let redis: RedisServer | null = null;
  let env: Record<string, string> = {};
  let daemon: Agentd;

  beforeAll(async () => {
    if (!isHere) return;
    for (const { plugin } of PLATFORMS) platforms.set(plugin.name, await FakePlatform.start(plugin));
    env = Object.assign({}, ...[...platforms.values()].map((platform) => platform.env));
    // With one message allowed, every second message is blocked by the guard.
    Object.assign(env, { LOOP_GUARD_ENABLED: 'true', LOOP_GUARD_MAX_MESSAGES: '1', LOG_FILE: '' });
    if (backend === 'redis') {
      redis = await startRedis(['--rdbcompression', 'no']);
      env.REDIS_URL = redis.url;
    }
    daemon = await startAgentd({ directory, env });
  });
  const run = async (...args: string[]) => {
    const ended = await command([...args, '--json'], { cwd: directory, env });
    if (ended.code !== 0) throw new Error(ended.stderr);
    return JSON.parse(ended.stdout);
  };

  /** All files of the embedded store, or all keys of Redis with their values. */
  async function stored(): Promise<Map<string, Buffer>> {
    if (redis === null) {
      const state = join(directory, 'state');
      return new Map(readdirSync(state).map((name) => [name, readFileSync(join(state, name))]));
    }
    const { client } = redis;
    const places = new Map<string, Buffer>();
    for (const key of await client.keys('*'))
      places.set(key, Buffer.concat([Buffer.from(key), (await client.dumpBuffer(key)) ?? Buffer.alloc(0)]));
    return places;
  }

  it.skipIf(!isHere).each(PLATFORMS)(
    'leaves no id and no text of somebody who only sent a picture, and was blocked: $plugin.name',
    async ({ plugin: { name }, personOf }) => {
      const platform = platforms.get(name) as FakePlatform;
      const [ada, bob] = [personOf(11), personOf(22)];
      const hints = new Map<string, string[]>();
      for (const user of [ada, bob]) {
        const sent = platform.event({ kind: 'other', user, text: '' });
        expect((await platform.deliver(daemon, sent)).status).toBe(200);
        const rooms = platform.simulator.seenIn(sent, platform.settings);
        await platform.until(() => rooms.some((room) => platform.textsTo(room).length > 0));
        hints.set(
          user,
          rooms.flatMap((room) => platform.textsTo(room)),
        );
        // This message is judged, and the next one is blocked.
        for (const text of ['first', 'second'])
          await platform.deliver(daemon, { user, text: `${text} of ${user}` });
      }
      const idsOf = async (user: string) => {
        const { inbox } = await run('person', 'show', `${name}:${user}`);
        const ids = inbox.flatMap(({ id, message_id }: Record<string, string>) => [id, message_id ?? '']);
        return [user, user.replace('+', ''), ...ids, `of ${user}`].map((value) => ({ name: value, value }));
      };
      const [hers, his] = [await idsOf(ada), await idsOf(bob)];
      expect(hers.length).toBeGreaterThanOrEqual(7);
      const { erased } = await run('person', 'erase', `${name}:${ada}`, '--yes');
      expect(erased).toMatchObject({ seen_messages: 3, guard: 2 });
      expect(findCanaries(hers, await stored())).toEqual([]);
      const left = findCanaries(his, await stored());
      expect(new Set(left.map((found) => found.split(' (')[0])).size).toBeGreaterThan(4);
      expect([...hints.values()].every((texts) => texts.length > 0)).toBe(true);
    },
  );
});
