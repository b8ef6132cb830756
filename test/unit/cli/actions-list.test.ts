import { rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { EXAMPLE } from '../../../plugins/names.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { openSeal } from '../../../src/daemon/identity/seal.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import type { ActionOutcome, NewAction } from '../../../src/daemon/store/actions/actions.ts';
import { openStore } from '../../../src/daemon/store/open.ts';
import { type AlarmClock, systemClock } from '../../../src/daemon/time/clock.ts';
import { closeActionText } from '../../../src/daemon/tools/journal/action-record.ts';
import { anAction } from '../../contract/fixtures.ts';
import { collectLog } from '../../support/log-lines.ts';
import { agentd } from './captured-output.ts';
import { stubSettings, stubState } from './stub-settings.ts';

let settings: Partial<Settings>;

const HOUR = 3_600_000;
const ada = personKey({ sub: 'ada', iss: 'https://site.example', tenant_id: 'acme' });
const DONE: ActionOutcome = { state: 'done', status: 200, answer: null };

beforeEach(() => {
  settings = { SESSION_BACKEND: 'sqlite', STATE_DIR: stubState(), ACTIONS_RETENTION_DAYS: 90 };
});

const list = (...argv: string[]) => agentd('actions', 'list', ...argv);

/** The ids of the actions that are listed. */
async function ids(...argv: string[]): Promise<string[]> {
  const { stdout } = await list('--json', ...argv);
  return (JSON.parse(stdout) as { action_id: string }[]).map(({ action_id }) => action_id);
}

/** Records a write as a daemon would have done `ago` ms ago. */
async function record(members: Partial<NewAction>, outcome: ActionOutcome | null = DONE, ago = 0) {
  const clock: AlarmClock = { ...systemClock, now: () => Date.now() - ago };
  const store = await openStore(settings as unknown as Settings, { role: 'daemon', clock });
  const seal = await openSeal(settings as unknown as Settings, store, collectLog().log);
  const action = anAction({ platform: EXAMPLE.channel, user_id: EXAMPLE.user, ...members });
  const { action_id } = action;
  const sealed = (field: 'args' | 'summary') => closeActionText(seal, action_id, field, action[field]);
  await store.actions.start(null, { ...action, args: sealed('args'), summary: sealed('summary') });
  if (outcome) await store.actions.finish(action_id, 1, outcome);
  await store.close();
}

test('actions list finds nothing if no daemon has stored anything yet', async () => {
  expect(await list()).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^No action found\./),
  });
});

test('actions list shows time, person, tool, outcome, status and summary, newest action first', async () => {
  await record({ action_id: 'one', person: ada });
  await record({ action_id: 'two', operator: userInfo().username, platform: null, user_id: null }, null);
  const { code, stdout } = await list();
  expect(code).toBe(0);
  const [head, two, one, ...rest] = stdout.split('\n');
  expect(head).toMatch(/^TIME +FOR +TOOL +OUTCOME +STATUS +SESSION +SUMMARY$/);
  expect(one).toMatch(
    /^20\S+Z +ada \(issuer https:\/\/site\.example, tenant acme\) +shop_cancelOrder +done +200 +s +Cancel order 7$/,
  );
  expect(two).toContain(`nobody (by ${userInfo().username})`);
  expect(two).toMatch(/ started +s +Cancel order 7$/);
  expect(rest).toEqual(['']);
});

test('actions list prints the whole record as JSON', async () => {
  await record({ action_id: 'one', person: ada });
  const { stdout } = await list('--json');
  expect(JSON.parse(stdout)).toEqual([
    {
      time: expect.stringMatching(/^20/),
      tool: 'shop_cancelOrder',
      outcome: 'done',
      status: 200,
      summary: 'Cancel order 7',
      action_id: 'one',
      arguments: { id: 7 },
      attempts: 1,
      confirmed: false,
      question_id: null,
      platform: EXAMPLE.channel,
      user_id: EXAMPLE.user,
      session_id: 's',
      request_id: null,
      person: { sub: 'ada', issuer: 'https://site.example', tenant_id: 'acme' },
      operator: null,
      finished_at: expect.stringMatching(/^20/),
    },
  ]);
});

test('actions list shows only the actions for the given person or platform user', async () => {
  await record({ action_id: 'of ada', person: ada });
  await record({ action_id: 'of sub alone', person: personKey({ sub: 'ada' }), user_id: 'U2' });
  await record({ action_id: 'of nobody', user_id: 'U3' });
  expect(await ids('--sub', 'ada', '--iss', 'https://site.example', '--tenant', 'acme')).toEqual(['of ada']);
  expect(await ids('--sub', 'ada')).toEqual(['of sub alone']);
  expect(await ids('--sub', 'eve')).toEqual([]);
  expect(await ids(`${EXAMPLE.channel}:U3`)).toEqual(['of nobody']);
  expect(await ids(`${EXAMPLE.channel}:U4`)).toEqual([]);
});

test('actions list takes the issuer of the settings for that of the person, unless one is given', async () => {
  await record({ action_id: 'of the site', person: personKey({ sub: 'ada', iss: 'https://site.example' }) });
  await record({ action_id: 'without issuer', person: personKey({ sub: 'ada' }) });
  stubSettings({ JWT_ISSUER: 'https://site.example' });
  expect(await ids('--sub', 'ada')).toEqual(['of the site']);
  expect(await ids('--sub', 'ada', '--iss', '')).toEqual(['without issuer']);
  stubSettings({ JWT_ISSUER: '*' });
  expect(await ids('--sub', 'ada')).toEqual(['without issuer']);
});

test('actions list shows only the actions of the given session, or since the given time', async () => {
  await record({ action_id: 'old', session_tag: 'x', session_id: 'x' }, DONE, 3 * HOUR);
  await record({ action_id: 'new', session_tag: 'y', session_id: 'y' });
  expect(await ids('--session', 'x')).toEqual(['old']);
  expect(await ids('--since', '2h')).toEqual(['new']);
  expect(await ids('--since', '4h')).toEqual(['new', 'old']);
  expect(await ids('--limit', '1')).toEqual(['new']);
});

test('actions list shows the outcome of a write as unknown if the process that sent it has died', async () => {
  await record({}, null, 10 * 60_000);
  expect((await list()).stdout).toMatch(/ unknown /);
});

test('actions list also shows actions that no key can decrypt', async () => {
  await record({});
  rmSync(join(settings.STATE_DIR ?? '', 'encryption-key'));
  const { stdout } = await list();
  expect(stdout).toMatch(/ done +200 +s +\(cannot decrypt\)$/m);
});

test.each([
  ['a word that names nobody', ['ada'], /is not a platform's user\n.*such as teamchat:U0ADA/],
  ['a tenant without a person', ['--tenant', 'acme'], /--iss and --tenant need --sub/],
  ['an empty person', ['--sub', ''], /--sub is empty/],
  ['a person and a user', ['--sub', 'ada', `${EXAMPLE.channel}:U3`], /both --sub and 'teamchat:U3' say whom/],
  ['a channel that does not exist', ['nochannel:foo'], /there is no channel 'nochannel'\nThe channels are /],
  ['an invalid time', ['--since', 'yesterday'], /--since takes/],
])('actions list refuses %s', async (_what, argv, message) => {
  const { code, stderr } = await list(...argv);
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
});
