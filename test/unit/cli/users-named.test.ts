import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { anInboxMessage, aSession, aTrace, GUARD_LIMITS } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { openAt } from '../store/state-directory.ts';
import { agentd } from './captured-output.ts';
import { stubState } from './stub-settings.ts';

let directory: string;

const PHONE = { platform: 'phonechat', user_id: '+16505550000' };

beforeEach(async () => {
  directory = stubState();
  const store = openAt(join(directory, 'agentd.db'));
  const blocked = { platform: 'webchat', user_id: 'eve', outcome: 'loop_guard_blocked' };
  await store.traces.keepRefused(aTrace(null, { ...blocked, request_id: 'first' }));
  await store.traces.keepRefused(aTrace(null, { ...blocked, request_id: 'second', started_at: 5 }));
  await store.traces.keep(aTrace(null, { ...PHONE, request_id: 'third' }));
  await saveSession(store, aSession(systemClock.now(), { session_id: 's-phone', ...PHONE }));
  await saveSession(store, aSession(systemClock.now(), { session_id: 's-eve', ...blocked }));
  const { message, ...waiting } = anInboxMessage({ platform: PHONE.platform, request_id: 'waiting' });
  await store.inbox.enqueue([{ ...waiting, message: message && { ...message, ...PHONE } }]);
  const user = guardUser({ ...PHONE, person: null, address: null });
  const guarded = { user, session_id: 's', text: 'Hi', message_id: null, sent_at: null };
  await store.guard.check(guarded, GUARD_LIMITS);
  await store.close();
});

async function explained(...argv: string[]): Promise<string[]> {
  const { stdout } = await agentd('explain', '--json', ...argv);
  return (JSON.parse(stdout) as { traces: { request_id: string }[] }).traces.map((one) => one.request_id);
}

async function sessions(...argv: string[]): Promise<string[]> {
  const { stdout } = await agentd('sessions', 'list', '--json', ...argv);
  return (JSON.parse(stdout) as { session_id: string }[]).map(({ session_id }) => session_id);
}

test('the refused messages of a user are explained, although they belong to no session', async () => {
  expect(await explained('--user', 'eve')).toEqual(['first', 'second']);
  expect(await explained('--user', 'eve', '--platform', 'webchat', '--limit', '1')).toEqual(['second']);
  expect(await agentd('explain', '--user', 'eve', '--platform', 'teamchat')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("nothing is known about 'eve'"),
  });
  expect(await agentd('explain', '--user', 'eve', '--platform', 'telex')).toMatchObject({ code: 2 });
});

test('if no message of a user is known, the advice says how a phone number is written', async () => {
  const { code, stderr } = await agentd('explain', '--user', '16505550000');
  expect(code).toBe(1);
  expect(stderr).toContain('plus sign');
  expect(stderr).not.toContain('`agentd explain --user ID`');
});

test('a user is found by any spelling of the id that the channel knows', async () => {
  expect(await explained('--user', '0016505550000')).toEqual(['third', 'waiting']);
  const spelled = ['--user', '+1 650 555 0000', '--platform', 'phonechat'];
  expect(await explained(...spelled)).toEqual(['third', 'waiting']);
  for (const spelling of ['0016505550000', '+16505550000', '+1 (650) 555-0000'])
    expect(await sessions('--user', spelling)).toEqual(['s-phone']);
  expect(await sessions('--user', '+16505550000', '--platform', 'webchat')).toEqual([]);
  expect(await sessions('--limit', '1', '--user', 'eve')).toEqual(['s-eve']);
});

test('`guard reset` also accepts any spelling of the id', async () => {
  expect(await agentd('guard', 'reset', 'webchat', '+16505550000')).toMatchObject({ code: 1 });
  expect(await agentd('guard', 'reset', 'phonechat', '001 650 555 0000')).toMatchObject({ code: 0 });
  expect(await agentd('guard', 'reset', 'phonechat', '+16505550000')).toMatchObject({ code: 1 });
});

test.each([
  ['person', 'show', 'phonechat:16505550000'],
  ['memory', 'list', 'phonechat:16505550000'],
  ['actions', 'list', 'phonechat:16505550000'],
  ['guard', 'reset', 'phonechat', '16505550000'],
])('`%s %s` refuses a number without a plus, which may be a number of another country', async (...argv) => {
  expect(await agentd(...argv)).toEqual({
    code: 2,
    stdout: '',
    stderr:
      "agentd: '16505550000' is not a valid NUMBER of phonechat\nWrite it with a plus sign and the country code, such as +15550100123.\n",
  });
});

test('`explain` and `sessions list` do not take a number without a plus for the number of some country', async () => {
  expect(await sessions('--user', '16505550000')).toEqual([]);
  expect(await agentd('explain', '--user', '16505550000')).toMatchObject({ code: 1 });
});

test('`explain` needs either an id or a user, and refuses both together', async () => {
  expect(await agentd('explain')).toMatchObject({ code: 2 });
  expect(await agentd('explain', 's-eve', '--user', 'eve')).toMatchObject({ code: 2 });
  expect(await agentd('explain', 's-eve', '--platform', 'webchat')).toMatchObject({ code: 2 });
});

test('traces are explained even if the key file cannot be read', async () => {
  writeFileSync(join(directory, 'encryption-key'), '');
  expect(await explained('--user', 'eve')).toEqual(['first', 'second']);
});

test('a user who hides the number is named by the business-scoped id', async () => {
  const named = await agentd('person', 'show', 'phonechat:US.13491208655302741918');
  expect(named).toMatchObject({ code: 0, stderr: '' });
});

test('a search on the website that finds nothing names the channel over which its widget answers', async () => {
  const { stderr } = await agentd('sessions', 'list', '--platform', 'website', '--user', 'nobody');
  expect(stderr).toContain('Most conversations of webchat (Website) are on sse: use --platform sse.');
  const other = await agentd('sessions', 'list', '--platform', 'slack');
  expect(other.stderr).toBe('No session found.\n');
});
