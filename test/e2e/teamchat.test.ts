import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sample } from '../fixtures/teamchat/sample.ts';
import { CHANNEL, problemOf, Workspace, words } from '../support/teamchat.ts';

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
  it('refuses a body with one changed byte, and uses no part of it', async () => {
    const event = work.platform.event({ user: 'U0D1', text: 'count 1' });
    const request = work.platform.simulator.delivery(event, work.platform.settings);
    const altered = { ...request, body: request.body.replace('count 1', 'count 2') };
    expect(problemOf(await work.platform.post(work.daemon, altered))).toEqual([401, 'invalid_signature']);
    expect((await work.platform.post(work.daemon, request)).status).toBe(200);
    expect(await work.texts('D0D1', 1)).toEqual([words(1)]);
  });
});

describe('a delivery', () => {
  it('answers the challenge', async () => {
    const { status, text } = await work.send({ body: JSON.stringify(sample('url-verification')) });
    expect([status, JSON.parse(text)]).toEqual([200, { challenge: sample('url-verification').challenge }]);
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
});

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
  it('mentions nobody', async () => {
    await work.deliver({ user: 'U0G5', text: 'loud' });
    work.dictation.say('loud', '<!channel> <!here> @everyone <@U0GRACE> & all');
    work.dictation.end('loud');
    const [text] = await work.texts('D0G5', 1);
    expect(text).not.toMatch(/<[!@]|@(?:channel|here|everyone)/);
    expect(work.posts('D0G5')[0]).toMatchObject({ parse: 'none', link_names: 'false' });
  });
});
