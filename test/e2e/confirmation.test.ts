import { createServer } from 'node:http';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import type { Shown, SimulatedEvent } from '../../src/channel/index.ts';
import { command } from '../support/command.ts';
import { agentd, type StartOptions, startAgentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { eventsIn, type Seen } from '../support/event-stream.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { listenOnFreePort } from '../support/free-ports.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

/*
 * Tests the rules of agentd-agent(7), "Confirmation", on all channels. The API has one operation that writes. The agent
 * calls it as the person if the message is "mine 1004", and without credentials if the message is "ours 1004".
 */

const RUNTIME = `
export default {
  apiVersion: 1,
  async *run({ text, tools, confirmed_actions }) {
    const [, whose, id] = /^(mine|ours|bound) (\\S+)$/.exec(text) ?? [];
    const list = /^list (.+)$/.exec(text)?.[1].split(' ') ?? [];
    const cancel = tools.find(({ name }) => name === 'ours_cancelOrder');
    for (const one of list) await cancel.call({ id: one, body: { reason: 'late' } });
    if (list.length > 0) yield 'I ask you.';
    else if (confirmed_actions.length > 0)
      yield 'It was done: ' + confirmed_actions.map(({ answer }) => JSON.stringify(answer)).join(', ');
    else if (whose) {
      const answer = await tools.find(({ name }) => name === whose + '_cancelOrder').call({ id, body: { reason: 'late' } });
      yield answer.ok ? 'I ask you.' : answer.message;
    } else yield 'You said: ' + text;
  },
};
`;

const DOCUMENT = `
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths:
  /orders/{id}/cancel:
    post:
      operationId: cancelOrder
      summary: Cancel an order
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      requestBody:
        content:
          application/json:
            schema: { type: object, properties: { reason: { type: string, title: Reason }, account: { type: string } } }
      responses: { '200': { description: Cancelled } }
`;

const CONFIGURATION = `
tools:
  - openapi: ./shop.yaml
    name: mine
    operations: { cancelOrder: { summary: 'Cancel order {id}', idempotency_header: Idempotency-Key } }
  - openapi: ./shop.yaml
    name: ours
    base_url: BASE/open
    credentials: none
    operations: { cancelOrder: { summary: 'Cancel order {id}', confirm_label: Cancel order } }
  - openapi: ./shop.yaml
    name: bound
    operations: { cancelOrder: { summary: 'Cancel order {id}', bind: { body.account: org } } }
texts:
  de: { confirm: ['ja'], decline: ['nein'], confirm_not_done: 'Nicht getan: {action}' }
`;

const QUESTION = 'Cancel order "1004"\nbody.reason: "late"';
const DONE = 'It was done: {"ok":true,"result":{"cancelled":true}}';

const folder = temporaryFolder('confirmation');
let calls: { line: string; authorization: string | undefined; key: unknown; body: unknown }[] = [];
const api = createServer(async (request, response) => {
  const { method, url, headers } = request;
  let body = '';
  for await (const chunk of request) body += chunk;
  calls.push({
    line: `${method} ${url}`,
    authorization: headers.authorization,
    key: headers['idempotency-key'],
    body: JSON.parse(body),
  });
  response.setHeader('content-type', 'application/json').end('{"cancelled":true}');
});

/** What the daemon says at the end of the reply. */
const LINE = 'Cancel order "1004" (body.reason: "late") – done';

let options: StartOptions;
let daemon: DaemonHere;
let platforms: Record<'teamchat' | 'phonechat' | 'msgbot', FakePlatform>;
let ada: string;
let tests = 0;

beforeAll(async () => {
  const base = `http://127.0.0.1:${await listenOnFreePort(api)}`;
  platforms = {
    teamchat: await FakePlatform.start(teamchat),
    phonechat: await FakePlatform.start(phonechat),
    msgbot: await FakePlatform.start(msgbot),
  };
  writeFiles(folder, {
    'runtime.ts': RUNTIME,
    'shop.yaml': DOCUMENT,
    'agentd.yaml': CONFIGURATION.replace('BASE', base),
  });
  const env = Object.assign({}, ...Object.values(platforms).map((platform) => platform.env));
  options = {
    directory: folder,
    env: { ...env, SSE_ENABLED: 'true', AGENT_RUNTIME: './runtime.ts', API_BASE_URL: `${base}/v1` },
  };
  daemon = await startDaemonHere(options);
  ada = await token({ sub: 'ada' });
});
beforeEach(() => {
  tests++;
  calls = [];
  for (const platform of Object.values(platforms)) platform.forget();
});

describe('webchat', () => {
  const say = (message: string, options: { bearer?: string; metadata?: object; key?: string } = {}) => {
    const { bearer, metadata, key } = options;
    const body = { user_id: 'ada', session_id: `room-${tests}`, message, ...(metadata ? { metadata } : {}) };
    const headers: Record<string, string> = key ? { 'Idempotency-Key': key } : {};
    return post(daemon.url, body, { headers, ...(bearer ? { bearer } : {}) });
  };

  it('asks in the response, and after the confirmation makes exactly the stored call, as the person', async () => {
    const asked = await say('mine 1004', { bearer: ada });
    const { confirmation } = asked.body.metadata;
    expect(confirmation).toMatchObject({
      id: expect.any(String),
      summary: QUESTION,
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      begins_at: expect.any(Number),
      as: 'ada@example.com',
    });
    expect(asked.body.response).toBe(
      'I ask you.\n\nPlease confirm: Cancel order "1004"\n\n- body.reason: "late"\n\nI’ll do this as you, ada@example.com.\n\nAnswer "yes" to confirm or "no" to decline.',
    );
    expect(calls).toEqual([]);
    const metadata = { confirm: { id: confirmation.id, approve: true } };
    const done = await say('', { bearer: ada, metadata });
    expect([done.status, done.body.response, done.body.metadata.confirmation]).toEqual([
      200,
      `${DONE}\n\n${LINE}`,
      undefined,
    ]);
    const { actions, receipts_begin_at } = done.body.metadata;
    expect(actions).toMatchObject([{ action_id: confirmation.id, outcome: 'done', status: 200 }]);
    expect(done.body.response.slice(receipts_begin_at)).toBe(LINE);
    expect(calls).toEqual([
      {
        line: 'POST /v1/orders/1004/cancel',
        authorization: `Bearer ${ada}`,
        key: confirmation.id,
        body: { reason: 'late' },
      },
    ]);
    const again = await say('', { bearer: ada, metadata });
    expect([again.status, again.body.code]).toEqual([409, 'confirmation_gone']);
    expect(calls).toHaveLength(1);
  });

  it('shows the id of the action in the trace, and the id of the request in the list of actions', async () => {
    const asked = await say('mine 1004', { bearer: ada });
    const { id } = asked.body.metadata.confirmation;
    await say('', { bearer: ada, metadata: { confirm: { id, approve: true } } });
    const listed = await command(['actions', 'list', '--sub', 'ada', '--json'], { cwd: folder });
    const [action] = JSON.parse(listed.stdout);
    expect(action).toMatchObject({ action_id: id, request_id: expect.any(String) });
    const table = await command(['actions', 'list', '--sub', 'ada'], { cwd: folder });
    expect(table.stdout).toMatch(new RegExp(`^TIME .* SESSION .*\n.* room-${tests} `));
    const explained = await command(['explain', action.request_id], { cwd: folder });
    expect(explained.stdout).toContain(`action=${id}`);
    expect(explained.stdout).toContain(
      'Action (done, status 200): Cancel order "1004" (body.reason: "late")',
    );
  });
});

describe('sse', () => {
  async function start(message: string, options: { bearer?: string; metadata?: object } = {}) {
    const body = { user_id: 'ada', session_id: `room-${tests}`, message, metadata: options.metadata };
    return post(daemon.url, body, {
      path: '/sse/chat',
      ...(options.bearer ? { bearer: options.bearer } : {}),
    });
  }
  async function read(stream_id: string): Promise<Seen[]> {
    return eventsIn(await (await fetch(`${daemon.url}/sse/stream/${stream_id}`)).text());
  }
  const ask = async (message: string, options: { bearer?: string; metadata?: object } = {}) =>
    read((await start(message, options)).body.stream_id);

  it('asks with an event before `complete`', async () => {
    const events = await ask('mine 1004', { bearer: ada });
    const names = events.map(({ event }) => event);
    expect(names.slice(-4)).toEqual(['confirmation', 'text_chunk', 'complete', 'stream_complete']);
    const question = events.find(({ event }) => event === 'confirmation')?.data;
    expect(question).toMatchObject({
      id: expect.any(String),
      summary: QUESTION,
      expires_at: expect.any(String),
    });
    const text = events.filter(({ event }) => event === 'text_chunk').map(({ data }) => data.text);
    expect(text.join('')).toBe(events.at(-1)?.data.response);
    const done = await ask('', { bearer: ada, metadata: { confirm: { id: question.id, approve: true } } });
    expect(done.slice(-4).map(({ event }) => event)).toEqual([
      'actions',
      'text_chunk',
      'complete',
      'stream_complete',
    ]);
    expect(done.at(-4)?.data.actions).toMatchObject([{ action_id: question.id, outcome: 'done' }]);
    expect(done.at(-1)?.data.response).toBe(`${DONE}\n\n${LINE}`);
    expect(calls).toHaveLength(1);
  });
});

describe.each(['teamchat', 'phonechat', 'msgbot'] as const)('%s', (name) => {
  const platform = () => platforms[name];
  const hasRooms = name !== 'phonechat';
  const people = () => platform().simulator.who();
  let number = 0;
  beforeEach(() => {
    number = 1000 + tests * 10;
  });

  async function ask(event: Partial<SimulatedEvent> = {}): Promise<Shown> {
    const given = { text: 'ours 1004', number, ...event };
    expect((await platform().deliver(daemon, given)).status).toBe(200);
    await platform().until(() => questions().length > 0);
    return questions()[0] as Shown;
  }
  const questions = () => platform().shown.filter(({ buttons }) => buttons);
  const press = (asked: Shown, index: number, event: Partial<SimulatedEvent> = {}) =>
    platform().deliver(daemon, {
      kind: 'press',
      text: asked.buttons?.[index]?.press ?? '',
      number,
      ...event,
    });
  const messages = () => platform().shown.filter(({ what }) => what === 'message');

  it('shows two buttons below the question; pressing the first makes the call', async () => {
    const asked = await ask();
    expect(asked.buttons?.map(({ label }) => label)).toEqual(['Cancel order', 'Decline']);
    expect(unescaped(asked.text)).toContain('Cancel order "1004"');
    expect(unescaped(asked.text)).toContain(name === 'teamchat' ? '*Reason*: "late"' : 'body.reason: "late"');
    expect(asked.text).not.toContain('Answer');
    expect(calls).toEqual([]);
    expect((await press(asked, 0)).status).toBe(200);
    await platform().until(() => messages().some(({ text }) => text.includes('It was done')));
    expect(calls).toEqual([
      expect.objectContaining({ line: 'POST /open/orders/1004/cancel', authorization: undefined }),
    ]);
    // A second press does nothing.
    const before = messages().length;
    expect((await press(asked, 0, { sent_at: Date.now() + 1 })).status).toBe(200);
    await platform().deliver(daemon, { text: 'still there?', number: number + 1 });
    await platform().until(() => messages().some(({ text }) => text.includes('still there?')));
    expect(calls).toHaveLength(1);
    expect(messages().length - before).toBeLessThanOrEqual(hasRooms ? 1 : 2);
  });

  /** How the message with this question looks later. The change of an earlier test may arrive late. */
  async function closed({ to, text }: Shown): Promise<Shown> {
    // How to answer a part of several actions is left out then.
    const [first = ''] = text.split('\n');
    const found = () =>
      platform().shown.find((one) => one.what === 'edited' && one.to === to && one.text.startsWith(first));
    await platform().until(() => found() !== undefined);
    return found() as Shown;
  }

  it.runIf(hasRooms)('shows what became of the question in place of its buttons', async () => {
    const asked = await ask({ place: 'group', user_name: 'Ada Lovelace' });
    await press(asked, 0, { place: 'group' });
    const { text, buttons } = await closed(asked);
    expect(buttons).toBeUndefined();
    expect(text.slice(asked.text.length).trim()).toMatch(
      // Slack shows the time to each reader in their own time zone.
      /^Confirmed by Ada Lovelace at (?:<!date\^\d+\^\{time\}\|)?\d\d:\d\d UTC>?\. This was done\.$/,
    );
  });

  it('asks about several actions at once, and makes those that the person confirms', async () => {
    const asked = await ask({ text: 'list 1004 1005 1006' });
    expect(asked.buttons?.map(({ label }) => label)).toEqual(['Confirm all', 'Decline all']);
    expect(asked.text).toContain('answer for example');
    await platform().deliver(daemon, { text: 'only 1 and 3', number: number + 1 });
    await platform().until(() => messages().some(({ text }) => text.includes('It was done')));
    expect(calls.map(({ line }) => line)).toEqual([
      'POST /open/orders/1004/cancel',
      'POST /open/orders/1006/cancel',
    ]);
    if (!hasRooms) return;
    expect((await closed(asked)).text).toMatch(/1, 3: This was done\. 2: This was declined, and not done\.$/);
  });

  it('accepts a written "yes" after the question was delivered', async () => {
    await ask();
    await platform().deliver(daemon, { text: 'Yes!', number: number + 1 });
    await platform().until(() => messages().some(({ text }) => text.includes('It was done')));
    expect(calls).toHaveLength(1);
  });

  it.runIf(hasRooms)(
    'tells a person who presses somebody else’s button that only the person who was asked can answer',
    async () => {
      const [asker, stranger] = people();
      const asked = await ask({ place: 'group', ...(asker ? { user: asker } : {}) });
      const pressed = { place: 'group', ...(stranger ? { user: stranger } : {}) } as const;
      expect((await press(asked, 0, pressed)).status).toBe(200);
      const alone = () => platform().shown.filter(({ what }) => what === 'private');
      await platform().until(() => alone().length > 0);
      expect(alone().map(({ text }) => text)).toEqual(['Only the person who was asked can answer this.']);
      expect(calls).toEqual([]);
      await press(asked, 0, { place: 'group', ...(asker ? { user: asker } : {}) });
      await platform().until(() => messages().some(({ text }) => text.includes('It was done')));
      expect(calls).toHaveLength(1);
    },
  );
});

describe('the command line', () => {
  it('`agentd chat` asks, and accepts y and n', async () => {
    const args = ['chat', '--url', daemon.url, '--token', ada];
    const { code, stdout, stderr } = await agentd(args, {
      cwd: folder,
      input: 'mine 1004\ny\nmine 1005\nn\n',
    });
    expect([code, calls.map(({ line }) => line)]).toEqual([0, ['POST /v1/orders/1004/cancel']]);
    expect(stdout).toContain('Please confirm: Cancel order "1004"');
    expect(stdout).toContain('It was done');
    expect(stdout).toContain('Cancel order "1005" (body.reason: "late") – declined, nothing was changed');
    expect(stderr).toContain('You can also answer with y or n.');
  });
});

it('after kill -9, the next daemon takes the buttons away that the first one could not', async () => {
  await daemon.stop();
  const killed = await startAgentd(options);
  daemon = killed;
  const platform = platforms.teamchat;
  const isUpdate = ({ path }: { path: string }) => path.includes('chat.update');
  platform.answer = (call) => (isUpdate(call) ? 'hang' : null);
  await platform.deliver(daemon, { text: 'ours 1004', number: 9000 });
  await platform.until(() => platform.shown.some(({ buttons }) => buttons));
  const asked = platform.shown.find(({ buttons }) => buttons);
  await platform.deliver(daemon, { kind: 'press', text: asked?.buttons?.[0]?.press ?? '', number: 9000 });
  await platform.until(() => platform.calls.some(isUpdate));
  await killed.stop('SIGKILL');
  platform.answer = () => null;
  daemon = await startDaemonHere(options);
  await platform.until(() => platform.shown.some(({ what }) => what === 'edited'));
  expect(platform.shown.find(({ what }) => what === 'edited')?.text).toMatch(/This was done\.$/);
  expect(calls).toHaveLength(1);
});

function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}
