import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { personKey } from '../../src/daemon/identity/identity.ts';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { dropLink } from '../support/drop-link.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';
import { openAt } from '../unit/store/state-directory.ts';

// Tests `agentd link` while a daemon runs, for the channel in test/fixtures/telex.ts. An id of this channel can be
// written `ada` or `tx-ada`, and the command also accepts `printer` as the name of the channel.

let directory: string;
let exchange: FakeExchange;
let daemon: DaemonHere;
let env: Record<string, string>;

beforeAll(async () => {
  directory = temporaryFolder('link');
  exchange = await FakeExchange.start();
  env = exchange.env(directory);
  daemon = await startDaemonHere({ directory, env });
});

// Each test starts without links.
beforeEach(async () => {
  const store = openAt(join(directory, 'state', 'agentd.db'), 'administrator');
  for (const { key } of await store.links.list({ limit: 100 })) await dropLink(store.links, key);
  await store.close();
});

/** Runs a command, and checks that it prints no token. */
async function run(args: string[], input = '', more: Record<string, string> = {}) {
  const ended = await command(args, { cwd: directory, env: { ...env, ...more }, input });
  expect(ended.stdout + ended.stderr).not.toMatch(/eyJ[\w-]+\.eyJ/);
  return ended;
}

/** Returns the e-mail address of the person for whom a message of this user is answered. */
async function personOf(user: string): Promise<string | null> {
  const before = exchange.taken.length;
  const messages = [{ user, thread: user, text: 'hello' }];
  expect((await post(daemon.url, { messages }, { path: '/telex' })).status).toBe(200);
  await exchange.until(() => exchange.taken.length > before);
  return exchange.runs.at(-1)?.person?.email ?? null;
}

const tokenOf = (sub: string, ttl = 3600) => token({ sub, email: `${sub}@example.com`, ttl });

/** Stores a link with an expired token. */
async function linkedOnceTo(sub: string, user: string): Promise<void> {
  const store = openAt(join(directory, 'state', 'agentd.db'), 'administrator');
  const key = `telex:jwt:${user}`;
  const expired = { key, token: await tokenOf(sub, -60), person: personKey({ sub }), ttl_ms: 86_400_000 };
  expect(await store.links.put(expired)).toBe(true);
  await store.close();
}

describe('agentd link before the first start of the daemon', () => {
  it('creates the store and the key, and the daemon finds the link', async () => {
    const fresh = temporaryFolder('link');
    const own = { ...env, STATE_DIR: join(fresh, 'state') };
    const linked = await command(['link', 'printer', 'tx-u1', '-'], {
      cwd: fresh,
      env: own,
      input: await tokenOf('bob'),
    });
    expect([linked.code, linked.stdout]).toEqual([0, expect.stringMatching(/^linked u1 of telex to bob@/)]);
    expect(linked.stderr).toBe(
      `created the store sqlite ${own.STATE_DIR}/agentd.db, because it did not exist; a daemon with a different STATE_DIR does not use it\n`,
    );
    const audit = await command(['audit', '--json'], { cwd: fresh, env: own });
    expect(JSON.parse(audit.stdout)).toMatchObject([
      { command: 'link', about: 'telex', person: expect.any(String) },
    ]);
    expect(audit.stdout).not.toMatch(/u1|bob/);
    const later = await startDaemonHere({ directory: fresh, env: own });
    await post(later.url, { messages: [{ user: 'u1', thread: 'u1', text: 'hello' }] }, { path: '/telex' });
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.runs.at(-1)?.person?.email).toBe('bob@example.com');
  });

  it('creates nothing for a channel that does not exist or an id that is invalid', async () => {
    const fresh = temporaryFolder('link');
    const own = { ...env, STATE_DIR: join(fresh, 'state') };
    for (const [channel, user] of [
      ['nothing', 'u1'],
      ['printer', '?'],
    ] as const) {
      const { code } = await command(['link', channel, user, '-'], { cwd: fresh, env: own, input: 'x' });
      expect([code, existsSync(own.STATE_DIR)]).toEqual([2, false]);
    }
    await rm(fresh, { recursive: true, force: true });
  });

  it('creates nothing without a valid token', async () => {
    const fresh = temporaryFolder('link');
    const own = { ...env, STATE_DIR: join(fresh, 'state') };
    for (const [input, exit, told] of [
      ['abc', 1, /^agentd: the token is invalid: JWT Malformed; nothing was linked\n/],
      [await tokenOf('bob', -60), 1, /^agentd: the token is invalid: Token Expired; nothing was linked\n/],
      ['', 2, /^agentd: no token was given\n/],
    ] as const) {
      const { code, stderr } = await command(['link', 'printer', 'u1', '-'], { cwd: fresh, env: own, input });
      expect([code, stderr]).toEqual([exit, expect.stringMatching(told)]);
      expect(readdirSync(fresh)).toEqual([]);
    }
    await rm(fresh, { recursive: true, force: true });
  });
});

describe('agentd link', () => {
  it('links with a token from standard input while a daemon runs, and says to whom the user is linked and until when', async () => {
    expect(await personOf('u1')).toBeNull();
    const { code, stdout, stderr } = await run(['link', 'printer', 'tx-u1', '-'], await tokenOf('bob'));
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^linked u1 of telex to bob@example\.com \(sub bob\) until 20\S+Z \(in \d+ minutes: then the token expires\)\n$/,
    );
    expect(await personOf('u1')).toBe('bob@example.com');
    expect(await personOf('tx-u1')).toBe('bob@example.com');
  });

  it('prints the end of the link as JSON: the expiry of the link or of its token, whichever is earlier', async () => {
    const long = await tokenOf('bob', 60 * 86_400);
    const { code, stdout } = await run(['link', 'telex', 'u1', '--json'], long);
    expect(code).toBe(0);
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({
      linked: true,
      platform: 'telex',
      user_id: 'u1',
      email: 'bob@example.com',
      person: { sub: 'bob', issuer: null, tenant_id: null },
      notifies_user: false,
    });
    const days = (Date.parse(told.expires_at) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThanOrEqual(30);
    expect(Date.parse(told.token_expires_at)).toBeGreaterThan(Date.parse(told.expires_at));
    expect((await run(['link', 'printer', 'u1', '-'], long)).stdout).toContain('a link lasts 30 days');
  });

  it('accepts the token as an argument, with a warning', async () => {
    const { code, stderr } = await run(['link', 'printer', 'u1', await tokenOf('bob')]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^warning: a token in the arguments is visible in the process list/);
  });

  it.each([
    [
      ['link', 'fax', 'u1', '-'],
      /there is no channel 'fax' whose users can be linked\n.*\bphone or phonechat\b.*\bprinter or telex\b/,
    ],
    [['link', 'webchat', 'u1', '-'], /there is no channel 'webchat'/],
    [
      ['link', 'phone', '0171234567', '-'],
      /'0171234567' is not a valid NUMBER of phonechat\nWrite it with a plus sign and the country code,/,
    ],
    [
      ['link', 'phone', '2125550123', '-'],
      /'2125550123' is not a valid NUMBER of phonechat\nWrite it with a plus/,
    ],
    [
      ['link', 'remove', 'phone', '2125550123'],
      /'2125550123' is not a valid NUMBER of phonechat\nWrite it with a plus/,
    ],
    [['link', 'printer', 'no id!', '-'], /'no id!' is not a valid ID of telex/],
    [['link', 'printer'], /missing required argument 'user'/],
    [['link', 'printer', 'u1', '-'], /no token was given/],
    [['link', 'list', '--limit', '0'], /--limit takes a whole number from 1 to 100000/],
    [
      ['link', 'list', '--platform', 'fax'],
      /--platform: there is no channel 'fax'\nThe channels are .*\bphonechat\b.*\btelex\b/,
    ],
    [['sessions', 'list', '--platform', 'fax'], /--platform: there is no channel 'fax'/],
    [['sessions', 'list', '--platform', 'fax', '--json'], /--platform: there is no channel 'fax'/],
    [['inbox', 'retry', '--failed', '--channel', 'fax'], /--channel: there is no channel 'fax'/],
    [['logs', '--channel', 'fax', '--follow'], /--channel: there is no channel 'fax'/],
  ])('refuses wrong usage: %j', async (args, told) => {
    const { code, stdout, stderr } = await run(args, '', { LOG_FILE: join(directory, 'none.log') });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(told);
  });

  it('keeps a link to another person and names that person, and replaces it only with --replace', async () => {
    await run(['link', 'printer', 'u1', '-'], await tokenOf('bob'));
    const eves = await tokenOf('eve');
    const refused = await run(['link', 'printer', 'tx-u1', '-'], eves);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(
      /^agentd: u1 is linked to bob@example\.com \(sub bob\) until 20\S+Z\nPass --replace to replace that link\.\n$/,
    );
    expect(await personOf('u1')).toBe('bob@example.com');
    // A link to the same person is renewed without --replace.
    expect((await run(['link', 'printer', 'u1', '-'], await tokenOf('bob', 7200))).code).toBe(0);
    expect((await run(['link', 'printer', 'u1', '--replace', '-'], eves)).code).toBe(0);
    expect(await personOf('u1')).toBe('eve@example.com');
  });

  it('replaces an expired link without --replace', async () => {
    await linkedOnceTo('bob', 'u1');
    expect((await run(['link', 'printer', 'u1', '-'], await tokenOf('eve'))).code).toBe(0);
  });

  it('links users of an inactive channel, even if other settings are missing', async () => {
    writeFileSync(join(directory, 'agentd.yaml'), 'plugins:\n  - ./telex.ts\nAPI_TIMEOUT_SECONDS: never\n');
    const inactive = { MESSAGING_PLATFORMS: '', TELEX_API_URL: '' };
    const { code, stdout } = await run(['link', 'printer', 'u1', '-'], await tokenOf('bob'), inactive);
    expect(code).toBe(0);
    expect(stdout).toContain('linked u1 of telex');
    expect(await personOf('u1')).toBe('bob@example.com');
    expect((await run(['link', 'remove', 'printer', 'u1'], '', inactive)).code).toBe(0);
    await rm(join(directory, 'agentd.yaml'));
  });

  it('reports that nothing is stored yet, or that a required setting is wrong', async () => {
    const elsewhere = { STATE_DIR: join(directory, 'elsewhere') };
    const nowhere = await run(['link', 'remove', 'printer', 'u1'], '', elsewhere);
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toContain('Nothing is stored yet');
    const wrong = { TOKEN_ENCRYPTION_KEY: 'short' };
    for (const args of [
      ['link', 'printer', 'u1', '-'],
      ['link', 'list'],
      ['link', 'remove', 'printer', 'u1'],
    ]) {
      const { code, stderr } = await run(args, 'x', wrong);
      expect(code).toBe(78);
      expect(stderr).toContain('TOKEN_ENCRYPTION_KEY');
    }
  });
});

describe('agentd link list', () => {
  it('shows the users, both expiry times and the state of each link, but never a token', async () => {
    expect(await run(['link', 'list'])).toMatchObject({ code: 0, stdout: '', stderr: 'No link found.\n' });
    expect(await run(['link', 'list', '--json'])).toMatchObject({ code: 0, stdout: '[]\n' });
    await linkedOnceTo('eve', 'u2');
    await run(['link', 'printer', 'u1', '-'], await tokenOf('bob'));
    const { code, stdout } = await run(['link', 'list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^CHANNEL +USER +PERSON +SUB +STATE +TOKEN EXPIRES +LINK EXPIRES +MADE WITH +RENEWED +NOT RENEWED\ntelex +u1 +bob@example\.com +bob +live +20\S+Z +20\S+Z +operator\ntelex +u2 +eve@example\.com +eve +token expired +20\S+Z +20\S+Z +token\n$/,
    );
    const [first, second] = JSON.parse((await run(['link', 'list', '--json', '--platform', 'telex'])).stdout);
    expect(first).toMatchObject({
      platform: 'telex',
      user_id: 'u1',
      state: 'live',
      email: 'bob@example.com',
      person: { sub: 'bob', issuer: null, tenant_id: null },
      token_expires_at: expect.stringMatching(/Z$/),
      link_expires_at: expect.stringMatching(/Z$/),
      expires_at: first.token_expires_at,
      how: 'operator',
      made_at: expect.stringMatching(/Z$/),
      ...{ renewed_at: null, renewal_failed: null, renewal_failed_at: null },
    });
    expect(second).toMatchObject({ user_id: 'u2', state: 'token_expired' });
    expect(await run(['link', 'list', '--platform', 'webchat'])).toMatchObject({ code: 0, stdout: '' });
    const one = await run(['link', 'list', '--limit', '1', '--json']);
    expect(JSON.parse(one.stdout)).toHaveLength(1);
    expect(one.stderr).toBe('Only the first is shown; --limit shows more.\n');
  });

  it('reports that no key decrypts a sealed token', async () => {
    const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
    const sealed = { TOKEN_ENCRYPTION_KEY: key(1) };
    await run(['link', 'printer', 'u1', '-'], await tokenOf('bob'), sealed);
    const state = async (more: Record<string, string>) =>
      JSON.parse((await run(['link', 'list', '--json'], '', more)).stdout)[0];
    expect(await state(sealed)).toMatchObject({ state: 'live', email: 'bob@example.com' });
    expect(await state({ TOKEN_ENCRYPTION_KEY: `${key(2)},${key(1)}` })).toMatchObject({ state: 'live' });
    const other = { TOKEN_ENCRYPTION_KEY: key(2) };
    expect(await state(other)).toMatchObject({
      state: 'unreadable',
      email: null,
      person: null,
      expires_at: null,
    });
    expect((await run(['link', 'list'], '', other)).stdout).toMatch(
      /\ntelex +u1 +cannot decrypt +20\S+Z +operator\n$/,
    );
    // The running daemon does not have the key either, so it ignores the link.
    expect(await personOf('u1')).toBeNull();
    expect((await run(['link', 'printer', 'u1', '-'], await tokenOf('eve'), other)).code).toBe(0);
    expect(await state(other)).toMatchObject({ state: 'live', email: 'eve@example.com' });
  });
});

describe('agentd link remove', () => {
  it('removes the link at once, for any spelling of the id', async () => {
    await run(['link', 'printer', 'u1', '-'], await tokenOf('bob'));
    expect(await run(['link', 'remove', 'printer', 'tx-u1'])).toMatchObject({
      code: 0,
      stdout:
        'removed the link of u1 of telex; the daemon tells the user in the chat, if the channel can write first\n',
      stderr: '',
    });
    expect(await personOf('u1')).toBeNull();
    const again = await run(['link', 'remove', 'telex', 'u1', '--json']);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('there is no link of u1 of telex');
  });

  it('removes a link that no key decrypts', async () => {
    const key = { TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') };
    await run(['link', 'printer', 'u1', '-'], await tokenOf('bob'), key);
    expect(await run(['link', 'remove', 'telex', 'u1', '--json'])).toMatchObject({ code: 0 });
    expect(await run(['link', 'list'])).toMatchObject({ code: 0, stdout: '' });
  });
});
