import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { SECRET } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { FakeApi } from '../support/fake-api.ts';
import { freePort } from '../support/free-ports.ts';
import { CLIENT, Issuer } from '../support/issuer.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-identity(7), "Sign-out at the site", with an authorization server, over two daemons.

describe.skipIf(!hasRedis)('a sign-out at the authorization server', () => {
  let redis: RedisServer;
  let api: FakeApi;
  let issuer: Issuer;
  let one: DaemonHere;
  let other: DaemonHere;
  let env: Record<string, string>;
  const directory = temporaryFolder('sign-out');

  beforeAll(async () => {
    redis = await startRedis();
    api = await FakeApi.start({ secret: SECRET });
    const port = await freePort();
    issuer = await Issuer.start(async () => `http://127.0.0.1:${port}/backchannel-logout`);
    env = {
      ...{ REDIS_URL: redis.url, TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') },
      ...api.env,
      ...{ JWT_ALGORITHM: 'RS256', JWT_JWKS_URL: `${issuer.url}/jwks`, JWT_SECRET_KEY: '' },
      ...{ JWT_ISSUER: issuer.url, JWT_AUDIENCE: CLIENT.client_id },
      STATE_DIR: join(directory, 'state'),
    };
    [one, other] = await Promise.all([
      startDaemonHere({ directory, env: { ...env, PORT: String(port) } }),
      startDaemonHere({ directory, env }),
    ]);
  });
  /** Asks a daemon who the sender is. @returns the token of the lookup, and the session */
  async function ask({ url }: DaemonHere, token?: string, session_id?: string) {
    const before = api.requests.length;
    const body = {
      user_id: 'visitor',
      message: 'Who am I?',
      ...(session_id === undefined ? {} : { session_id }),
    };
    const { status, body: answer } = await post(url, body, token === undefined ? {} : { bearer: token });
    expect(status).toBe(200);
    const bearers = api.requests.slice(before).map(({ bearer }) => bearer);
    return { bearers, session_id: answer.session_id as string };
  }

  it('holds on each daemon, for the session at the site and no other', async () => {
    const [first, second, bob] = [
      await issuer.signIn('ada'),
      await issuer.signIn('ada'),
      await issuer.signIn('bob'),
    ];
    const { bearers, session_id } = await ask(one, first.token);
    expect(bearers).toContain(first.token);
    expect((await ask(other, undefined, session_id)).bearers).toContain(first.token);
    const elsewhere = await ask(other, second.token);

    await first.signOut();
    expect(issuer.told).toEqual(['ok']);
    for (const daemon of [one, other]) {
      expect((await ask(daemon, first.token)).bearers).not.toContain(first.token);
      expect((await ask(daemon, undefined, session_id)).bearers).not.toContain(first.token);
      expect((await ask(daemon, undefined, elsewhere.session_id)).bearers).toContain(second.token);
      expect((await ask(daemon, bob.token)).bearers).toContain(bob.token);
    }
    const { stdout } = await command(['sessions', 'list', '--json'], { env });
    const states = (JSON.parse(stdout) as { session_id: string; state: string }[]).map((session) => [
      session.session_id,
      session.state,
    ]);
    expect(states).toContainEqual([session_id, 'NoJWT']);
    expect(states).toContainEqual([elsewhere.session_id, 'ValidJWT']);

    const again = await issuer.signIn('ada');
    expect((await ask(other, again.token)).bearers).toContain(again.token);
    for (const daemon of [one, other]) {
      expect(daemon.stderr()).not.toContain(first.token);
      expect(daemon.stderr()).toMatch(/signed out at the site|token refused: Signed Out/);
    }
  });
});
