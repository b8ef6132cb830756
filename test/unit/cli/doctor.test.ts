import { generateKeyPairSync } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withShortTimeouts } from '../../../src/channel/conformance/send-reply.ts';
import type { ChannelPlugin, PushChannel, PushScope } from '../../../src/channel/index.ts';
import { checkChannel, checkStateDirectory } from '../../../src/cli/doctor/check-all.ts';
import { checkClock, ProbeClient } from '../../../src/cli/doctor/finding.ts';
import { checkBusinessApi, checkKeySet, checkModel } from '../../../src/cli/doctor/services.ts';
import { checkRenewal } from '../../../src/cli/doctor/store.ts';
import { makePrivateDirectory } from '../../../src/daemon/files/make-directory.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { listenOnFreePort } from '../../support/free-ports.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { rsaPair } from '../identity/make-token.ts';
import { openAt } from '../store/state-directory.ts';

describe('a check of another server', () => {
  let server: Server;
  let url: string;
  /** How the server answers. By default, it never answers. */
  let answer: Parameters<typeof createServer>[1] = () => {};
  beforeEach(async () => {
    server = createServer((request, response) => answer?.(request, response));
    url = `http://127.0.0.1:${await listenOnFreePort(server)}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
    answer = () => {};
  });

  const model = (base: string) => ({ AGENT_BASE_URL: base, AGENT_MODEL: 'small' }) as Settings;

  it('shows the values of the settings if there is no model server to ask', async () => {
    const detailFor = async (settings: Partial<Settings>) =>
      (await checkModel(settings as Settings, new ProbeClient()))[0]?.detail;
    expect(await detailFor({})).toContain('; AGENT_RUNTIME is not set, AGENT_MODEL is not set');
    expect(await detailFor({ AGENT_RUNTIME: './mine.ts' })).toContain(
      '; AGENT_RUNTIME=./mine.ts, AGENT_MODEL is',
    );
  });

  it('gives up on a model server that hangs', async () => {
    expect(await withShortTimeouts(() => checkModel(model(url), new ProbeClient()))).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('did not answer within 10 seconds') },
    ]);
  });

  it('gives up on a business API that hangs', async () => {
    const settings = { API_BASE_URL: url, API_TIMEOUT_SECONDS: 10 } as Settings;
    expect(await withShortTimeouts(() => checkBusinessApi(settings, new ProbeClient()))).toMatchObject([
      { check: 'business API', outcome: 'failed', detail: expect.stringContaining('did not answer') },
      { check: 'default credentials', outcome: 'skipped' },
    ]);
  });

  it.each([
    ['<html>', 'warning'],
    ['null', 'warning'],
    ['{"data":[null,{"id":1},{"id":"small"}]}', 'ok'],
    ['x'.repeat(2_000_000), 'warning'],
  ])('does not fail, whatever the server returns as its list of models (%.20s)', async (body, outcome) => {
    answer = (_request, response) => response.end(body);
    expect(await checkModel(model(url), new ProbeClient())).toMatchObject([{ outcome }]);
  });

  describe('for the key set of the issuer', () => {
    const settings = (): Settings =>
      ({ JWT_ALGORITHM: 'RS256', JWT_VERIFY_SIGNATURE: true, JWT_JWKS_URL: `${url}/keys` }) as Settings;
    const rsa = (bits: number) => rsaPair('first', bits).publicKey.export({ format: 'jwk' });
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });

    it.each([
      [
        { keys: [{ ...rsa(2048), kid: 'a' }, { ...rsa(2048), kid: 'b' }, ec] },
        'ok',
        /that can check tokens: 2$/,
      ],
      [{ keys: [rsa(1024), ec, { ...rsa(2048), use: 'enc' }] }, 'failed', /^no key at JWT_JWKS_URL/],
      [{ keys: 'none' }, 'failed', /JWT_JWKS_URL cannot be reached: [^.]*malformed/],
    ])('counts the keys that can check tokens: set %#', async (body, outcome, detail) => {
      answer = (_request, response) => response.end(JSON.stringify(body));
      expect(await checkKeySet(settings(), new ProbeClient())).toMatchObject([
        { check: 'key set', outcome, detail: expect.stringMatching(detail) },
      ]);
    });

    it('fails if the issuer answers with an error', async () => {
      answer = (_request, response) => response.writeHead(500).end();
      expect(await checkKeySet(settings(), new ProbeClient())).toMatchObject([
        { outcome: 'failed', detail: expect.stringContaining('got 500'), advice: expect.any(String) },
      ]);
    });

    it('asks nobody if other keys check tokens', async () => {
      for (const other of [
        { JWT_PUBLIC_KEY: 'key.pem' },
        { JWT_ALGORITHM: 'HS256' },
        { JWT_VERIFY_SIGNATURE: false },
      ])
        expect(await checkKeySet({ ...settings(), ...other } as Settings, new ProbeClient())).toEqual([]);
    });
  });

  it('does not send the key of the model to another address', async () => {
    const asked: (string | undefined)[] = [];
    answer = (request, response) => {
      asked.push(request.url);
      response.writeHead(307, { Location: `${url}/elsewhere` }).end();
    };
    expect(await checkModel(model(url), new ProbeClient())).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('answers 307') },
    ]);
    expect(asked).toEqual(['/models']);
  });

  it('also asks the server of the fallback model, with its own key or the key of the first model', async () => {
    const keys: (string | undefined)[] = [];
    answer = ({ headers }, response) => {
      keys.push(headers.authorization);
      response.writeHead(keys.length > 1 ? 401 : 200).end('{"data":[{"id":"small"}]}');
    };
    const settings = { ...model(url), AGENT_API_KEY: new Secret('key-one'), AGENT_FALLBACK_MODEL: 'tiny' };
    expect(await checkModel(settings, new ProbeClient())).toMatchObject([
      { outcome: 'ok' },
      { outcome: 'failed', advice: 'Set AGENT_FALLBACK_API_KEY to a key of that server.' },
    ]);
    const AGENT_FALLBACK_API_KEY = new Secret('key-two');
    await checkModel({ ...settings, AGENT_FALLBACK_API_KEY }, new ProbeClient());
    expect(keys).toEqual(['Bearer key-one', 'Bearer key-one', 'Bearer key-one', 'Bearer key-two']);
    expect(
      await checkModel({ ...settings, AGENT_FALLBACK_MODEL: 'builtin' }, new ProbeClient()),
    ).toHaveLength(1);
  });

  it('does not compare the clock with the time of a cached answer', async () => {
    const client = new ProbeClient();
    answer = (_request, response) => response.setHeader('Age', '300').end('{}');
    await checkModel(model(url), client);
    expect(client.readings).toEqual([]);
  });
});

describe('the check of a channel', () => {
  const checks = (channel: (scope: PushScope) => Partial<PushChannel>) => {
    const plugin: ChannelPlugin = {
      name: 'telex',
      apiVersion: 1,
      summary: 'People with a telex.',
      settings: [],
      detect: () => true,
      delivery: 'push',
      capabilities: { textLimit: null, markdown: 'none', typing: false },
      create: (scope) => ({ routes: [], send: async () => {}, ...channel(scope) }),
    };
    return checkChannel({ plugin, from: 'bundled', settings: {} }, new ProbeClient(), '');
  };
  const check = async (channel: (scope: PushScope) => Partial<PushChannel>) => (await checks(channel))[0];

  it('checks the registration only if the platform accepts the channel', async () => {
    const ok = async () => ({ outcome: 'ok', detail: 'known' }) as const;
    const lost = async () =>
      ({ outcome: 'warning', detail: 'nothing arrives', advice: 'Register it.' }) as const;
    const refused = async () =>
      ({ outcome: 'failed', detail: 'refused', advice: 'Set another token.' }) as const;
    const words = async (channel: Partial<PushChannel>) =>
      (await checks(() => channel)).map(({ check: name, outcome }) => `${name}: ${outcome}`);
    expect(await words({ check: ok, checkRegistration: lost })).toEqual([
      'channel telex: ok',
      'registration telex: warning',
    ]);
    expect(await words({ check: refused, checkRegistration: lost })).toEqual(['channel telex: failed']);
    expect(await words({ checkRegistration: lost })).toEqual(['channel telex: skipped']);
    expect(await words({ check: ok })).toEqual(['channel telex: ok']);
  });

  it('fails if the channel does not answer', async () => {
    const found = await withShortTimeouts(() => check(() => ({ check: () => new Promise(() => {}) })));
    expect(found).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('more than 30 seconds'),
    });
  });

  it('validates the result of the channel', async () => {
    const nonsense = async () =>
      undefined as unknown as Awaited<ReturnType<NonNullable<PushChannel['check']>>>;
    expect(await check(() => ({ check: nonsense }))).toMatchObject({
      outcome: 'failed',
      detail: 'it gave no reason',
    });
  });

  it('prevents the channel from sending anything', async () => {
    const speaks = (scope: PushScope) => ({
      async check() {
        await scope.notify({}, 'Hello?');
        return { outcome: 'ok', detail: 'said' } as const;
      },
    });
    expect(await check(speaks)).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('only being checked'),
    });
  });

  it('reports a channel that is invalid or cannot be created', async () => {
    const misshapen = () => ({ routes: 'none' }) as unknown as PushChannel;
    expect(await check(misshapen)).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('`routes`'),
    });
    const broken = () => {
      throw new Error('no line');
    };
    expect(await check(broken)).toMatchObject({
      outcome: 'failed',
      detail: 'it could not be queried: no line',
    });
  });
});

describe('the check of the clock', () => {
  const reading = (whose: string, off_seconds: number) => ({
    whose,
    ours: 1e12,
    theirs: 1e12 + off_seconds * 1000,
  });

  it('accepts a difference of one minute, and warns about a larger difference', () => {
    expect(checkClock([reading('a', 60), reading('b', -60)])).toMatchObject([
      { outcome: 'ok', detail: 'same as a, b' },
    ]);
    expect(checkClock([reading('a', 61), reading('b', -90), reading('c', 0)])).toMatchObject([
      { outcome: 'warning', detail: '61 seconds behind a' },
      { outcome: 'warning', detail: '90 seconds ahead of b' },
    ]);
  });
});

describe('the check of the renewal of tokens', () => {
  it('fails while the token endpoint refuses agentd as a client', async () => {
    const directory = temporaryFolder('state');
    const settings = { STATE_DIR: directory, SESSION_BACKEND: 'sqlite' } as Settings;
    expect(await checkRenewal(settings)).toEqual([]);
    const renewed = { ...settings, TOKEN_RENEWAL_URL: 'https://login.example/token' };
    const store = openAt(join(directory, 'agentd.db'));
    expect(await checkRenewal(renewed)).toMatchObject([{ outcome: 'ok' }]);
    await store.linkRenewals.noteRefused('invalid_client', 60_000);
    expect(await checkRenewal(renewed)).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('refuses agentd as a client (invalid_client)') },
    ]);
    await store.close();
    await rm(directory, { recursive: true });
  });
});

describe('the check of the state directory', () => {
  // Nothing can be created in /proc, whatever its permissions are.
  it('fails if the directory is missing and the daemon could not create it', async () => {
    expect(await checkStateDirectory('/proc/agentd/state')).toMatchObject([
      { outcome: 'failed', detail: expect.stringMatching(/cannot be created in \/proc: ENOENT$/) },
    ]);
    expect(() => makePrivateDirectory('/proc/agentd/state')).toThrow('ENOENT');
  });

  it('fails for a file, and is skipped for a directory that does not exist yet', async () => {
    const directory = temporaryFolder('state');
    await writeFile(join(directory, 'file'), '');
    expect(await checkStateDirectory(join(directory, 'file'))).toMatchObject([
      { outcome: 'failed', detail: expect.stringContaining('is not a directory') },
    ]);
    expect(await checkStateDirectory(join(directory, 'file/below'))).toMatchObject([{ outcome: 'failed' }]);
    expect(await checkStateDirectory(join(directory, 'not/yet'))).toMatchObject([{ outcome: 'skipped' }]);
    expect(await readdir(directory)).toEqual(['file']);
    await rm(directory, { recursive: true });
  });
});
