import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { KEY } from '../../src/daemon/store/idempotency.ts';
import { command } from '../support/command.ts';
import { type Agentd, agentd, startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { isThorough } from '../support/effort.ts';
import { inParallel } from '../support/pool.ts';
import { showSession } from '../support/session-view.ts';
import { canMount, smallDisk } from '../support/small-disk.ts';
import { storedDocuments } from '../support/stored-documents.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { type Answer, post } from '../support/webchat.ts';

const canLimit = spawnSync('prlimit', ['--version']).status === 0;

/** Limits the size of the daemon's files: a write at the limit fails as on a full disk. Pipes are not limited. */
function limitFiles(daemon: Agentd, bytes: number | 'unlimited'): void {
  const { status, stderr } = spawnSync('prlimit', [
    '--pid',
    String(daemon.pid),
    `--fsize=${bytes}:unlimited`,
  ]);
  expect(status, String(stderr)).toBe(0);
}

function expectUnavailable(answer: Answer): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(503);
  expect(answer.headers.get('Content-Type')).toBe('application/problem+json');
  expect(answer.body).toMatchObject({
    code: 'unavailable',
    status: 503,
    detail: 'The store cannot be reached at the moment.',
  });
  expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0);
}

async function started(env: Record<string, string> = {}): Promise<Agentd> {
  const daemon = await startAgentd({ env: { LOOP_GUARD_ENABLED: 'false', ...env } });
  return daemon;
}

/** The texts of answered turns. A refused message may have left a failed turn, if there was room for it. */
async function answeredTexts(daemon: Agentd, session_id: string): Promise<string[]> {
  const { turns } = await showSession(daemon, session_id);
  return turns.filter(({ outcome }) => outcome === 'answered').map(({ text }) => text);
}

const long = 'word '.repeat(3000);

it.skipIf(!canLimit)(
  'the daemon answers 503 while the disk is full, loses no answered turn, and recovers by itself',
  async () => {
    const daemon = await started();
    const session_id = 'on-a-full-disk';
    const answered: string[] = [];
    const refused: Answer[] = [];
    const say = async (number: number) => {
      const message = `number ${number} ${long}`.trim();
      const answer = await post(daemon.url, { user_id: 'ada', session_id, message });
      if (answer.status === 200) answered.push(message);
      else refused.push(answer);
    };
    const room = statSync(join(daemon.directory, 'state/agentd.db-wal')).size + 500_000;
    limitFiles(daemon, room);
    let number = 0;
    while (refused.length < 5) await say(number++);
    refused.forEach(expectUnavailable);
    expect(answered.length).toBeGreaterThan(5);

    // It serves requests that need no disk, and stored data can be read.
    expect((await fetch(`${daemon.url}/`)).status).toBe(200);
    expect(await answeredTexts(daemon, session_id)).toEqual(answered);

    limitFiles(daemon, 'unlimited');
    const before = answered.length;
    for (let more = 0; more < 5; more++) await say(number++);
    expect(answered).toHaveLength(before + 5);
    expect(await answeredTexts(daemon, session_id)).toEqual(answered);
    expect(daemon.log().filter(({ level }) => level === 'fatal')).toEqual([]);
  },
);

it.skipIf(!canMount || !isThorough)(
  'the daemon refuses new messages before its disk is full, and accepts them again when sessions have expired',
  async () => {
    const disk = smallDisk(40);
    const env = { STATE_DIR: join(disk, 'state'), SESSION_TTL_SECONDS: '10' };
    const daemon = await started(env);
    const say = () => post(daemon.url, { user_id: 'ada', message: long });
    const isRefusing = () =>
      daemon.log().some(({ msg }) => String(msg).startsWith('the store cannot be written'));
    const refused: Answer[] = [];
    // One refusal is not enough: the store may find space by itself before the daemon checks it.
    while (!isRefusing()) {
      const answers = await Promise.all(Array.from({ length: 8 }, say));
      refused.push(...answers.filter(({ status }) => status !== 200));
    }
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, body, headers } of refused) {
      expect(status).toBe(503);
      expect(body).toMatchObject({ code: 'unavailable' });
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    expect((await fetch(`${daemon.url}/`)).status).toBe(200);

    await daemon.logged(({ msg }) => msg === 'the store can be written again');
    // The sessions that expired first may have freed less space than this message needs.
    await expect.poll(async () => (await say()).status).toBe(200);
    expect(daemon.log().filter(({ level }) => level === 'fatal')).toEqual([]);
  },
);

it('when anonymous clients have stored too much, the daemon deletes only their sessions, oldest first', async () => {
  const daemon = await started({ ANONYMOUS_STORE_BYTES: '1048576' });
  const begin = async (options: { bearer?: string } = {}): Promise<string> => {
    const { status, body } = await post(daemon.url, { user_id: 'ada', message: long }, options);
    expect(status).toBe(200);
    return body.session_id;
  };
  const person = await begin({ bearer: await token({ sub: 'ada' }) });
  // This session was started without sign-in, and then a person signed in to it.
  const signedIn = await begin();
  const joined = { user_id: 'ada', session_id: signedIn, message: 'it is me' };
  const { body } = await post(daemon.url, joined, { bearer: await token({ sub: 'ada' }) });
  const anonymous: string[] = [];
  for (let n = 0; n < 60; n++) anonymous.push(await begin());
  const { stdout } = await command(['sessions', 'list', '--json', '--limit', '1000'], {
    cwd: daemon.directory,
    env: {},
  });
  const kept = (JSON.parse(stdout) as { session_id: string }[]).map(({ session_id }) => session_id);
  expect(kept).toEqual(expect.arrayContaining([person, body.session_id]));
  const left = anonymous.filter((session) => kept.includes(session));
  expect(left.length).toBeGreaterThan(10);
  expect(left.length).toBeLessThan(60);
  expect(left).toEqual(anonymous.slice(-left.length));
});

it.runIf(isThorough)(
  '400 keyed requests of an anonymous client leave no more than ANONYMOUS_STORE_BYTES',
  async () => {
    const bound = 2 * 1024 * 1024;
    // An agent whose replies are long.
    const dictation = await Dictation.start();
    const daemon = await started({ ANONYMOUS_STORE_BYTES: String(bound), ...dictation.env });
    await inParallel(
      Array.from({ length: 400 }, (_, n) => n),
      8,
      async (n) => {
        const headers = { 'Idempotency-Key': `key-${n}` };
        const { status } = await post(daemon.url, { user_id: 'ada', message: 'count 2000' }, { headers });
        expect(status).toBe(200);
      },
    );
    const path = join(daemon.directory, 'state/agentd.db');
    const keys = await storedDocuments(path, KEY);
    const db = new Database(path, { readonly: true });
    const stored = (sql: string) => db.prepare(sql).pluck().get() as number;
    const turns = stored('SELECT sum(octet_length(items)) FROM items');
    const traces = stored('SELECT sum(octet_length(records)) FROM records');
    db.close();
    const answers = keys.reduce((sum, { key, doc }) => sum + key.length + JSON.stringify(doc).length, 0);
    const soon = Math.max(...keys.map(({ doc }) => doc.expires_at)) - Date.now();
    expect(answers + turns + traces).toBeLessThan(bound);
    expect(answers).toBeGreaterThan(bound / 8);
    expect(soon).toBeLessThanOrEqual(60 * 60 * 1000);
  },
);

it('the daemon does not start if its state cannot be stored, and says so with exit code 69', async () => {
  const directory = temporaryFolder('disk');
  const inTheWay = join(directory, 'a-file');
  writeFileSync(inTheWay, '');
  const { code, stdout, stderr } = await agentd(['serve'], {
    cwd: directory,
    env: { STATE_DIR: join(inTheWay, 'state') },
  });
  expect(code).toBe(69);
  expect(stdout).toBe('');
  expect(stderr).toContain(`cannot open the store: ${inTheWay} is not a directory`);
});
