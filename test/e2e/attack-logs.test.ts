import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeModel } from '../support/fake-model.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// Input must not look like log lines, and must not control the terminal of a person who reads the log.

const LINE_ENDS = /[\u0085\u2028\u2029\u202e\u009b]/;
/** Line separators and a direction override. They are not control characters, so an id may contain them. */
const NAME = 'eve\u2028{"level":"fatal"}\u202e message_id=other';

let directory: string;
let shop: Shop;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'agentd-attack-'));
  const LOG_FILE = join(directory, 'agentd.log');
  shop = await startShop({ env: { LOG_FILE, LOG_LEVEL: 'DEBUG', JWT_DEBUG: 'true' } });
});
afterAll(async () => {
  await shop.stop();
  await rm(directory, { recursive: true });
});

describe('the log', () => {
  test('shows an id so that no part of it looks like a separate line or field', async () => {
    const repeat = { headers: { 'Idempotency-Key': 'key-1' } };
    await shop.say({ user_id: NAME, message: 'Hello' }, repeat);
    await shop.say({ user_id: NAME, message: 'Hello' }, repeat);
    const { msg } = await shop.daemon.logged((line) => String(line.msg).includes('DUPLICATE'));
    expect(msg).toBe(`[LoopGuard] DUPLICATE platform=webchat user=${JSON.stringify(NAME)} message_id=key-1`);
    const file = readFileSync(join(directory, 'agentd.log'), 'utf8');
    expect(file).toContain('DUPLICATE');
    for (const text of [file, shop.daemon.stderr()]) expect(text).not.toMatch(LINE_ENDS);
  });

  test('escapes control characters in claims', async () => {
    const name = 'a\u009b31m\u2028b';
    await shop.say({ user_id: 'eve', message: 'Hello' }, { bearer: await token({ claims: { name } }) });
    const line = await shop.daemon.logged(({ claims }) => (claims as { name?: string })?.name === name);
    expect(line.msg).toBe('token checked');
    expect(shop.daemon.stderr()).not.toMatch(LINE_ENDS);
  });

  test('contains no control characters from ids and messages, and neither does the output of commands', async () => {
    const { body } = await shop.say({ user_id: NAME, message: 'a\u001b[2Jb\u009b31mc' });
    const views = [
      ['sessions', 'list'],
      ['sessions', 'show', body.session_id],
      ['explain', body.session_id],
      ['logs'],
    ];
    for (const view of views) {
      const { code, stdout } = await shop.run(...view);
      expect(code).toBe(0);
      expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
    const { stdout } = await shop.run('sessions', 'show', body.session_id, '--json');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(JSON.parse(stdout).turns[0].text).toBe('a\u001b[2Jb\u009b31mc');
  });
});

describe('every log line of a request', () => {
  test('has the id of the request, even if the agent run writes the line', async () => {
    const model = await FakeModel.start();
    model.script(() => ({ status: 400 }));
    const failing = await startShop({
      env: { AGENT_BASE_URL: model.url, AGENT_MODEL: 'scripted', LOG_LEVEL: 'DEBUG' },
    });
    try {
      await failing.daemon.logged(({ msg }) => msg === 'agentd is ready');
      const before = failing.daemon.log().length;
      const headers = { 'X-Request-Id': 'mine' };
      const answer = await failing.say({ user_id: 'ada', message: 'Hello', jwt_token: 'bad' }, { headers });
      expect(answer.status).toBe(502);
      await failing.daemon.logged(({ msg }) => msg === 'request');
      const lines = failing.daemon.log().slice(before);
      expect(lines.map(({ msg }) => msg)).toContain('model call failed');
      for (const line of lines) expect(line).toMatchObject({ request_id: 'mine' });
    } finally {
      await failing.stop();
      await model.close();
    }
  });
});
