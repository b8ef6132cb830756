import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { readAll } from '../support/daemon.ts';
import { type Shop, startShop, startShopProcess } from '../support/shop.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';

const WHO = 'Who am I?';

let directory: string;
let state: string;
let keyFile: string;
beforeEach(() => {
  directory = temporaryFolder('sealing');
  state = join(directory, 'state');
  keyFile = join(state, 'encryption-key');
});

const start = (env: Record<string, string> = {}) => startShop({ directory, env });
const stored = () => readAll(['agentd.db', 'agentd.db-wal'].map((name) => join(state, name)));
const ada = () => token({ sub: 'user-ada', email: 'ada@example.com' });

/** Signs Ada in. @returns her session, and a part of her token that no other token contains. */
async function signIn({ say }: Shop): Promise<{ session_id: string; payload: string }> {
  const bearer = await ada();
  const { body } = await say({ user_id: 'visitor', message: WHO }, { bearer });
  return { session_id: body.session_id, payload: bearer.split('.')[1] ?? '' };
}

async function answerIn({ say }: Shop, session_id: string): Promise<string> {
  return (await say({ user_id: 'visitor', session_id, message: WHO })).body.response;
}

async function sealing(env: Record<string, string> = {}) {
  const { stdout } = await command(['doctor', '--json'], { cwd: directory, env });
  const findings = JSON.parse(stdout) as { check: string; outcome: string; detail: string }[];
  return findings.filter(({ check }) => check === 'sealing');
}

describe('stored tokens, by default,', () => {
  test('are sealed with a key that the first start creates, and that later starts and commands use', async () => {
    expect(await sealing()).toMatchObject([{ outcome: 'skipped' }]);
    const first = await start();
    const { session_id, payload } = await signIn(first);
    expect(stored()).toContain('sealed.v1.');
    expect(stored()).not.toContain(payload);
    const linked = await command(['link', 'msgbot', '42', '-'], { cwd: directory, input: await ada() });
    expect(linked).toMatchObject({ code: 0, stderr: '' });
    const key = readFileSync(keyFile, 'utf8');
    await first.stop();

    const second = await start();
    expect(readFileSync(keyFile, 'utf8')).toBe(key);
    expect(await answerIn(second, session_id)).toContain('Ada Lovelace');
    expect(second.daemon.stdout() + second.daemon.stderr()).not.toContain(key.trim());
    expect(await sealing()).toEqual([
      { check: 'sealing', outcome: 'ok', detail: `stored tokens are sealed with the key in ${keyFile}` },
    ]);
    const list = await command(['link', 'list', '--json'], { cwd: directory });
    expect(JSON.parse(list.stdout)).toMatchObject([{ user_id: '42', state: 'live' }]);
    await second.stop();
    // The link is sealed as well: it cannot be opened without the key.
    rmSync(keyFile);
    const without = await command(['link', 'list', '--json'], { cwd: directory });
    expect(JSON.parse(without.stdout)).toMatchObject([{ state: 'unreadable' }]);
  });
});

describe('agentd keys rotate while a daemon runs', () => {
  test('seals everything with the new key in the background; the old key can then be removed, and nobody has to sign in again', async () => {
    const shop = await startShopProcess({ directory });
    const { session_id } = await signIn(shop);
    const link = await command(['link', 'msgbot', '42', '-'], { cwd: directory, input: await ada() });
    expect(link.code).toBe(0);
    const old = readFileSync(keyFile, 'utf8').trim();
    const rotated = await shop.run('keys', 'rotate', '--json');
    expect(rotated.code).toBe(0);
    const { key } = JSON.parse(rotated.stdout) as { key: string };
    // The daemon has read only the old key so far, and can still open the token. Then it reads the new key.
    expect(await answerIn(shop, session_id)).toContain('Ada Lovelace');
    await shop.daemon.logged(({ msg, key: first }) => String(msg).includes('first key') && first === key);

    const keys = async () => JSON.parse((await shop.run('keys', 'list', '--json')).stdout);
    const [first, earlier] = await keys();
    expect(first).toMatchObject({ key, role: 'seals', texts: 2 });
    expect(earlier).toMatchObject({ role: 'opens', texts: 0 });
    expect(await shop.run('keys', 'remove', earlier.key)).toMatchObject({ code: 0 });
    expect(readFileSync(keyFile, 'utf8')).not.toContain(old);
    expect(await answerIn(shop, session_id)).toContain('Ada Lovelace');

    // After a kill -9 during a rotation, the keys in the file still open the stored tokens.
    expect(await shop.run('keys', 'rotate')).toMatchObject({ code: 0 });
    await shop.daemon.stop('SIGKILL');
    await shop.api.close();
    const again = await start();
    expect(await answerIn(again, session_id)).toContain('Ada Lovelace');
    const list = await again.run('link', 'list', '--json');
    expect(JSON.parse(list.stdout)).toMatchObject([{ user_id: '42', state: 'live' }]);
    const log = again.daemon.stderr() + shop.daemon.stderr() + rotated.stdout + rotated.stderr;
    for (const secret of [old, ...readFileSync(keyFile, 'utf8').trim().split(',')])
      expect(log).not.toContain(secret);
    const audit = JSON.parse((await again.run('audit', '--json')).stdout) as { command: string }[];
    expect(audit.map(({ command: name }) => name)).toEqual([
      'keys rotate',
      'keys remove',
      'keys rotate',
      'link',
    ]);
    await again.stop();
  });
});

describe('TOKEN_ENCRYPTION_KEY=off', () => {
  test('stores tokens unsealed, with a warning; the first start with a key seals them', async () => {
    const env = { TOKEN_ENCRYPTION_KEY: 'off' };
    const off = await start(env);
    const { session_id, payload } = await signIn(off);
    const linked = await ada();
    const link = await command(['link', 'msgbot', '42', '-'], { cwd: directory, env, input: linked });
    expect(link.code).toBe(0);
    const payloads = [payload, linked.split('.')[1] ?? ''];
    for (const one of payloads) expect(stored()).toContain(one);
    await off.daemon.logged(
      ({ level, msg }) => level === 'warn' && String(msg).startsWith('TOKEN_ENCRYPTION_KEY=off'),
    );
    await off.stop();
    expect(() => readFileSync(keyFile)).toThrow('ENOENT');
    expect(await sealing(env)).toMatchObject([{ outcome: 'warning' }]);
    const key = { TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') };
    expect(await sealing(key)).toMatchObject([
      {
        outcome: 'warning',
        detail: '2 stored tokens are not sealed, because there was no key when they were stored',
      },
    ]);

    const sealed = await start();
    expect(await sealing()).toMatchObject([{ outcome: 'ok' }]);
    expect(await answerIn(sealed, session_id)).toContain('Ada Lovelace');
    const list = await command(['link', 'list', '--json'], { cwd: directory });
    expect(JSON.parse(list.stdout)).toMatchObject([{ user_id: '42', state: 'live' }]);
    // The sweeper deletes what the journal still has of them.
    await expect.poll(() => payloads.filter((one) => stored().includes(one))).toEqual([]);
    await sealed.stop();
    // A daemon that has stopped leaves no write-ahead log beside its database.
    const left = readAll([join(state, 'agentd.db')]);
    for (const one of payloads) expect(left).not.toContain(one);
    // Sealing is off again: sealed tokens stay sealed, and can still be opened.
    const again = await start(env);
    expect(await answerIn(again, session_id)).toContain('Ada Lovelace');
    await again.stop();
  });
});
