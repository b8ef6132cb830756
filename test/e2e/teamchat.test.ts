import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sample } from '../fixtures/teamchat/sample.ts';
import { CHANNEL, COMMANDS, EVENTS, problemOf, type Sent, Workspace, words } from '../support/teamchat.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-teamchat(7) with one daemon. Each test has its own users. Tests that need a separate daemon are in
// teamchat-trouble.test.ts, and tests of links are in teamchat-linking.test.ts.

let work: Workspace;
beforeAll(async () => {
  work = await Workspace.open();
  await work.run();
});
afterEach(() => {
  work.platform.answer = () => null;
});
afterAll(() => work.close());

describe('a direct message', () => {
  it('is answered where it was written, after the 200 response, in one session for all direct messages of a user', async () => {
    expect(await work.deliver({ user: 'U0A1', text: 'count 2' })).toMatchObject({ status: 200, text: '' });
    await work.texts('D0A1', 1);
    await work.deliver({ user: 'U0A1', text: 'history' });
    expect(await work.texts('D0A1', 2)).toEqual([words(2), '[["count 2","word1 word2 "]]']);
    expect(work.posts('D0A1')[0]).not.toHaveProperty('thread_ts');
    await work.daemon.logged(
      ({ msg, session }) => msg === 'message answered' && session === 'teamchat:T0SIMULATE:D0A1',
    );
  });

  it('starts a separate conversation if it is written in a thread, and is answered there', async () => {
    await work.deliver({ user: 'U0A2', text: 'count 1' });
    await work.texts('D0A2', 1);
    await work.deliver({ user: 'U0A2', text: 'history', thread: 'aside' });
    expect(await work.texts('D0A2', 2)).toEqual([words(1), '[]']);
    const thread = work.posts('D0A2')[1]?.thread_ts;
    await work.daemon.logged(({ session }) => session === `teamchat:T0SIMULATE:D0A2:${thread}`);
  });
});

describe('a mention in a channel', () => {
  it('reaches the agent without the mention, and is answered in its thread, with a typing indicator until then', async () => {
    await work.deliver({ user: 'U0B1', place: 'group', text: 'ping', thread: 'b1' });
    await work.dictation.begun('ping');
    const typing = () => work.platform.shown.find(({ what, to }) => what === 'typing' && to === CHANNEL);
    await work.platform.until(() => typing() !== undefined);
    const thread = typing()?.thread;
    work.dictation.say('ping', '**pong**');
    work.dictation.end('ping');
    expect(await work.texts(CHANNEL, 1, thread)).toEqual(['*pong*']);
    await work.daemon.logged(({ session }) => session === `teamchat:T0SIMULATE:${CHANNEL}:${thread}`);
  });

  it('starts the thread in which it is answered, and all people in that thread share a session', async () => {
    const { event, ...envelope } = sample('app-mention') as { event: object };
    const ts = '1700000000.000123';
    const mention = (members: object) =>
      work.send({
        body: JSON.stringify({ ...envelope, event: { ...event, channel: 'C0B2', ...members } }),
      });
    expect((await mention({ user: 'U0B2', ts, text: '<@U0LAN0Z89> count 1' })).status).toBe(200);
    expect(await work.texts('C0B2', 1, ts)).toEqual([words(1)]);
    await mention({ user: 'W0B3', ts: '1700000001.000456', thread_ts: ts, text: 'history, <@U0LAN0Z89>' });
    expect((await work.texts('C0B2', 2, ts))[1]).toContain('count 1');
  });
});

describe('a message that arrives more than once', () => {
  it('is answered once, however often and in whichever event it is delivered, and whatever the retry header says', async () => {
    const event = work.platform.event({ user: 'U0C1', text: 'count 1', place: 'group', thread: 'c1' });
    const first = work.platform.simulator.delivery(event, work.platform.settings);
    const retried = (attempt: number) => ({
      ...first,
      headers: {
        ...first.headers,
        'X-Slack-Retry-Num': String(attempt),
        'X-Slack-Retry-Reason': 'http_timeout',
      },
    });
    // The first delivery may be a retry, and the last delivery is a different event for the same message.
    for (const attempt of [3, 1, 2])
      expect((await work.platform.post(work.daemon, retried(attempt))).status).toBe(200);
    expect((await work.deliver(event)).status).toBe(200);
    await work.deliver({ user: 'U0C1', text: 'count 2', place: 'group', thread: 'c1' });
    const { ts, thread_ts } = (JSON.parse(first.body) as { event: { ts: string; thread_ts: string } }).event;
    expect(await work.texts(CHANNEL, 2, thread_ts)).toEqual([words(1), words(2)]);
    const line = `[LoopGuard] DUPLICATE platform=teamchat user=U0C1 message_id=${CHANNEL}:${ts}`;
    expect(work.lines('[LoopGuard] DUPLICATE').filter((told) => told.includes('U0C1'))).toEqual([
      line,
      line,
      line,
    ]);
  });
});

describe('the signature check', () => {
  const form = { path: COMMANDS, type: 'application/x-www-form-urlencoded', body: 'ssl_check=1' };
  const challenge = JSON.stringify(sample('url-verification'));

  it.each<[string, Sent]>([
    ['a delivery without a signature', { headers: { 'X-Slack-Signature': '' } }],
    ['a delivery without a timestamp', { headers: { 'X-Slack-Request-Timestamp': '' } }],
    ['a signature with a different secret', { secret: 'another' }],
    ['a timestamp six minutes ago', { signedAt: -360 }],
    ['a timestamp six minutes ahead', { signedAt: 360 }],
    ['a different signature scheme', { headers: { 'X-Slack-Signature': `v1=${'0'.repeat(64)}` } }],
    ['a challenge signed with a different secret', { body: challenge, secret: 'another' }],
    ['a body that is not JSON, before it is parsed', { body: '{', secret: 'another' }],
    [
      'a command signed with a different secret',
      { ...form, body: 'command=/service-auth&text=off&user_id=U1', secret: 'another' },
    ],
    ['a certificate check signed with a different secret', { ...form, secret: 'another' }],
  ])('refuses %s', async (_what, sent) => {
    const answer = await work.send(sent);
    expect(problemOf(answer)).toEqual([401, 'invalid_signature']);
    expect(answer.headers.get('Content-Type')).toBe('application/problem+json');
  });

  it('refuses a body with one changed byte, and uses no part of it', async () => {
    const event = work.platform.event({ user: 'U0D1', text: 'count 1' });
    const request = work.platform.simulator.delivery(event, work.platform.settings);
    const altered = { ...request, body: request.body.replace('count 1', 'count 2') };
    expect(problemOf(await work.platform.post(work.daemon, altered))).toEqual([401, 'invalid_signature']);
    expect((await work.platform.post(work.daemon, request)).status).toBe(200);
    expect(await work.texts('D0D1', 1)).toEqual([words(1)]);
  });

  it('compares bytes: accepts any white space and escapes if they were signed, but not two signatures', async () => {
    const body = '{ "type":"event_callback",\r\n\t"event":{"type":"\\u006dessage"} }';
    expect((await work.send({ body })).status).toBe(200);
    expect((await work.send({ body, type: 'application/json; charset=utf-8' })).status).toBe(200);
    const { headers, ...request } = work.signed({ body });
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    expect((await work.platform.post(work.daemon, { ...request, headers: lower })).status).toBe(200);
    const twice = { ...lower, 'x-slack-signature': `${lower['x-slack-signature']}, v0=0` };
    expect(problemOf(await work.platform.post(work.daemon, { ...request, headers: twice }))[0]).toBe(401);
  });
});

describe('a delivery', () => {
  it('answers the challenge', async () => {
    const { status, text } = await work.send({ body: JSON.stringify(sample('url-verification')) });
    expect([status, JSON.parse(text)]).toEqual([200, { challenge: sample('url-verification').challenge }]);
  });

  it('is refused, even with a valid signature, if it is not JSON, has another content type, or uses another path', async () => {
    expect(problemOf(await work.send({ body: '{' }))).toEqual([400, 'malformed_json']);
    expect(problemOf(await work.send({ body: '[]' }))).toEqual([400, 'malformed_json']);
    const form = { body: 'a=b', type: 'application/x-www-form-urlencoded' };
    expect(problemOf(await work.send(form))).toEqual([415, 'unsupported_media_type']);
    expect(problemOf(await work.send({ path: COMMANDS }))).toEqual([415, 'unsupported_media_type']);
    expect(problemOf(await work.send({ path: '/teamchat/events' }))).toEqual([404, 'not_found']);
    const got = await fetch(work.daemon.url + EVENTS);
    expect([got.status, got.headers.get('Allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  it('causes one notice to its sender if it cannot be read', async () => {
    const long = { user: 'U0E1', text: 'x'.repeat(16_001), number: 900_001 };
    for (let n = 0; n < 3; n++) expect((await work.deliver(long)).status).toBe(200);
    expect((await work.deliver({ user: 'U0E1', kind: 'other' })).status).toBe(200);
    await work.deliver({ user: 'U0E1', text: 'count 1' });
    expect((await work.texts('D0E1', 3)).sort()).toEqual([
      expect.stringMatching(/only read text/),
      expect.stringMatching(/too long: a message may have 16,000 characters/),
      words(1),
    ]);
  });

  it('is ignored if a bot sent it, even the channel itself', async () => {
    await work.deliver({ user: 'U0E2', kind: 'status', text: 'count 3' });
    await work.deliver({ user: 'U0E2', text: 'count 1' });
    expect(await work.texts('D0E2', 1)).toEqual([words(1)]);
  });

  it.skipIf(spawnSync('prlimit', ['--version']).status !== 0)(
    'is not acknowledged while nothing can be stored, and is answered once when it is repeated',
    async () => {
      await work.deliver({ user: 'U0E3', text: 'count 1' });
      await work.texts('D0E3', 1);
      const sizes = ['agentd.db', 'agentd.db-wal'].map((name) =>
        statSync(join(work.directory, 'state', name)),
      );
      limitFiles(Math.min(...sizes.map(({ size }) => size)));
      const typed = await token();
      const again = { user: 'U0E3', text: 'count 2', number: 900_002 };
      const refused = await work.deliver(again);
      const command = await work.deliver({ user: 'U0E3', kind: 'command', text: `/service-auth ${typed}` });
      limitFiles('unlimited');
      expect(problemOf(refused)).toEqual([503, 'unavailable']);
      // The command gets a text as its answer, because after a 503 the platform would show its own error.
      expect([command.status, JSON.parse(command.text)]).toEqual([
        200,
        { response_type: 'ephemeral', text: expect.stringMatching(/^❌ .*cannot store this/) },
      ]);
      expect((await work.deliver(again)).status).toBe(200);
      expect(await work.texts('D0E3', 2)).toEqual([words(1), words(2)]);
    },
  );
});

/** Makes it impossible for files of the daemon to grow beyond this size, as on a full disk. */
function limitFiles(bytes: number | 'unlimited'): void {
  const args = ['--pid', String(work.daemon.pid), `--fsize=${bytes}:unlimited`];
  const { status, stderr } = spawnSync('prlimit', args);
  expect(status, String(stderr)).toBe(0);
}

describe('an edit', () => {
  it('replaces the text until the turn of the message begins; a later edit is ignored and logged', async () => {
    const user = 'U0F1';
    await work.deliver({ user, text: 'first', number: 900_003 });
    await work.deliver({ user, text: 'count 1', number: 900_004 });
    await work.dictation.begun('first');
    await work.deliver({ user, kind: 'edit', text: 'too late', number: 900_003 });
    await work.deliver({ user, kind: 'edit', text: 'count 2', number: 900_004 });
    work.dictation.say('first', 'done');
    work.dictation.end('first');
    expect(await work.texts('D0F1', 2)).toEqual(['done', words(2)]);
    expect(work.lines('edit ignored')).toHaveLength(1);
  });
});

describe('a reply', () => {
  it('is sent as several messages, in order, if it is long; an accepted part is not sent again', async () => {
    let failures = 0;
    work.platform.answer = ({ path, body }) =>
      path === '/chat.postMessage' && body.includes('Part%201') && failures++ === 0 ? { status: 500 } : null;
    await work.deliver({ user: 'U0G1', text: 'long' });
    const parts = [0, 1, 2].map((part) => `Part ${part}. ${'word '.repeat(750)}`.trim());
    work.dictation.say('long', parts.join('\n\n'));
    work.dictation.end('long');
    expect(await work.texts('D0G1', 3)).toEqual(parts);
    expect(work.posts('D0G1')).toHaveLength(4);
  });

  it('is sent again after the time that the platform gives, without another run, and other replies do not wait', async () => {
    let limited = 0;
    work.platform.answer = ({ path, body }) =>
      path === '/chat.postMessage' && body.includes('D0G2') && limited++ === 0
        ? { status: 429, headers: { 'Retry-After': '2' }, body: { ok: false, error: 'ratelimited' } }
        : null;
    await work.deliver({ user: 'U0G2', text: 'slow' });
    work.dictation.say('slow', 'at last');
    work.dictation.end('slow');
    await work.platform.until(() => limited === 1);
    await work.deliver({ user: 'U0G3', text: 'count 1' });
    await work.texts('D0G3', 1);
    expect(await work.texts('D0G2', 1)).toEqual(['at last']);
    const [first, second] = work.posts('D0G2').map(({ at }) => Number(at));
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(2000);
    expect(work.dictation.runs.filter((text) => text === 'slow')).toHaveLength(1);
  });

  it('is not sent again if the platform refuses it permanently, and nobody gets a notice', async () => {
    work.platform.answer = ({ body }) =>
      body.includes('channel=D0G4') ? { status: 200, body: { ok: false, error: 'is_archived' } } : null;
    await work.deliver({ user: 'U0G4', text: 'count 1' });
    const line = await work.daemon.logged(({ msg }) => msg === 'message has failed for good');
    expect(line).toMatchObject({ failure: 'delivery_refused: is_archived', sends: 1 });
    work.platform.answer = () => null;
    await work.deliver({ user: 'U0G4', text: 'count 2' });
    expect(await work.texts('D0G4', 1)).toEqual([words(2)]);
    expect(work.posts('D0G4')).toHaveLength(2);
    const health = await (await fetch(work.daemon.url)).json();
    expect(health).toMatchObject({ adapters: { teamchat: { status: 'ok' } } });
  });

  it('mentions nobody', async () => {
    await work.deliver({ user: 'U0G5', text: 'loud' });
    work.dictation.say('loud', '<!channel> <!here> @everyone <@U0GRACE> & all');
    work.dictation.end('loud');
    const [text] = await work.texts('D0G5', 1);
    expect(text).not.toMatch(/<[!@]|@(?:channel|here|everyone)/);
    expect(work.posts('D0G5')[0]).toMatchObject({ parse: 'none', link_names: 'false' });
  });
});
