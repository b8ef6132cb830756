import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, expect, test, vi } from 'vitest';
import { randomFrom } from '../support/chance.ts';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { type CompletionRequest, FakeModel, type ModelAnswer } from '../support/fake-model.ts';
import { listenOnFreePort } from '../support/free-ports.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { type Answer, post } from '../support/webchat.ts';

// The daemon is killed shortly before or after its tools write. The model words the reason for a cancellation
// differently in each run.

/** How often the daemon is killed. */
const KILLS = 40;
const CLIENTS = 4;

vi.setConfig({ testTimeout: 60_000 + KILLS * 8000 });

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/orders/{id}/cancel': {
      post: {
        operationId: 'cancelOrder',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        requestBody: {
          content: {
            'application/json': { schema: { type: 'object', properties: { reason: { type: 'string' } } } },
          },
        },
        responses: { 200: { description: 'Cancelled' } },
      },
    },
    '/payments/{id}': {
      post: {
        operationId: 'pay',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'Paid' } },
      },
    },
  },
};

const SOURCES = `
tools:
  - openapi: ./shop.json
    name: shop
    operations:
      cancelOrder: { confirm: never, summary: 'Cancel order {id}' }
      pay: { confirm: never, summary: 'Pay for {id}', idempotency_header: Idempotency-Key }
`;

/** The points at which the daemon may be killed. */
const POINTS = ['asked for a call', 'write arrived', 'write answered', 'told the result'] as const;
type Point = (typeof POINTS)[number];

interface Written {
  tool: 'shop_cancelOrder' | 'shop_pay';
  id: string;
  sub: string | null;
  key: string | undefined;
}

const folder = temporaryFolder('writes');
const written: Written[] = [];
const random = randomFrom(20_261_122);
/** Called at each point. */
let pass: (point: Point) => void = () => undefined;
let model: FakeModel;
let env: Record<string, string>;
let daemon: Agentd;

const api = createServer((request, response) => {
  const [, path = '', id = ''] = (request.url ?? '').split('/');
  const claims = (request.headers.authorization ?? '').split('.')[1];
  request.resume().on('end', async () => {
    written.push({
      tool: path === 'orders' ? 'shop_cancelOrder' : 'shop_pay',
      id,
      sub: claims === undefined ? null : JSON.parse(Buffer.from(claims, 'base64url').toString()).sub,
      key: request.headers['idempotency-key']?.toString(),
    });
    pass('write arrived');
    await wait(random.below(8));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}');
    pass('write answered');
  });
});

/**
 * Calls the tool that the message names, whatever the prompt says about earlier attempts. The reason for a cancellation
 * has different words each time.
 */
function answer({ messages }: CompletionRequest, index: number): ModelAnswer {
  const last = messages.at(-1);
  if (last?.role === 'tool') {
    pass('told the result');
    return { text: ['It is ', 'done.'] };
  }
  const [, what, id] = /(cancel|pay) (\S+)$/.exec(String(last?.content)) ?? [];
  pass('asked for a call');
  const call =
    what === 'pay'
      ? { name: 'shop_pay', args: { id } }
      : { name: 'shop_cancelOrder', args: { id, body: { reason: `worded for the ${index}th time` } } };
  return { tools: [call] };
}

beforeAll(async () => {
  const port = await listenOnFreePort(api);
  model = await FakeModel.start();
  model.script(answer);
  writeFiles(folder, { 'shop.json': JSON.stringify(DOCUMENT), 'agentd.yaml': SOURCES });
  env = {
    API_BASE_URL: `http://127.0.0.1:${port}`,
    API_EMAIL: 'service@example.com',
    API_PASSWORD: 'service-password',
    AGENT_MODEL: 'test-model',
    AGENT_BASE_URL: model.url,
    AGENT_API_KEY: 'key',
  };
  daemon = await start();
});

const start = () => startAgentd({ directory: folder, env, args: ['--config', 'agentd.yaml'] });

/** Sends the message until it is answered, each time under the same key. */
async function say(client: number, message: string): Promise<Answer> {
  const user = `user${client}`;
  const key = randomUUID();
  for (;;) {
    const body = { user_id: user, session_id: `of-${user}`, message, jwt_token: await token({ sub: user }) };
    const sent = await post(daemon.url, body, { headers: { 'Idempotency-Key': key } }).catch(() => null);
    if (sent && ![409, 503].includes(sent.status)) return sent;
    await wait(50);
  }
}

interface Listed {
  tool: string;
  outcome: string;
  arguments: { id: string };
  person: { sub: string };
}

test(`after ${KILLS} kill -9 around writes, no write has taken effect twice, and each is in the journal`, async () => {
  const replies = new Map<string, string>();
  for (let kill = 0; kill < KILLS; kill++) {
    const point = POINTS[kill % POINTS.length];
    let left = 1 + random.below(CLIENTS);
    const delay = random.chance(0.5) ? 0 : random.below(12);
    const killed = new Promise<void>((resolve) => {
      pass = (passed) => {
        if (passed !== point || --left !== 0) return;
        setTimeout(() => {
          daemon.signal('SIGKILL');
          resolve();
        }, delay);
      };
    });
    const talks = Array.from({ length: CLIENTS }, async (_, client) => {
      const id = `${client % 2 === 0 ? 'c' : 'p'}${kill}-${client}`;
      const { status, body } = await say(client, `Please ${client % 2 === 0 ? 'cancel' : 'pay'} ${id}`);
      expect(status, `${point}: ${JSON.stringify(body)}`).toBe(200);
      replies.set(id, body.response);
    });
    await killed;
    expect(await daemon.exited).toBeNull();
    pass = () => undefined;
    daemon = await start();
    await Promise.all(talks);
  }
  const wrong = daemon.log().filter(({ level }) => level === 'error' || level === 'fatal');
  expect(wrong).toEqual([]);
  expect(replies.size).toBe(KILLS * CLIENTS);

  const { stdout } = await command(
    ['actions', 'list', '--limit', '10000', '--json', '--config', 'agentd.yaml'],
    {
      cwd: folder,
      env,
    },
  );
  const listed = JSON.parse(stdout) as Listed[];
  for (const [id, reply] of replies) {
    const arrived = written.filter((one) => one.id === id);
    const journal = listed.filter(({ arguments: args }) => args.id === id);
    const what = `${id}: ${JSON.stringify({ arrived, journal, reply })}`;
    if (id.startsWith('c')) expect(arrived.length, what).toBeLessThanOrEqual(1);
    else expect(new Set(arrived.map(({ key }) => key)).size, what).toBeLessThanOrEqual(1);
    expect(journal.length, what).toBe(1);
    const [{ outcome, tool, person } = {} as Listed] = journal;
    const client = id.split('-')[1];
    expect(person, what).toMatchObject({ sub: `user${client}` });
    for (const one of arrived) expect([one.tool, one.sub], what).toEqual([tool, `user${client}`]);
    // The process may have died before it sent the write, or before the answer arrived.
    expect(['done', 'unknown', 'started'], what).toContain(outcome);
    if (outcome === 'done') expect(arrived.length, what).toBeGreaterThan(0);
    else expect(reply, what).toContain('unknown: it is not known whether this happened');
    // A write with an idempotency key is sent again until its outcome is known.
    if (id.startsWith('p')) expect(outcome, what).toBe('done');
  }
});
