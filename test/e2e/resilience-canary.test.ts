import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Canary, findCanaries, tokenCanaries } from '../support/canary.ts';
import { command } from '../support/command.ts';
import { type Agentd, baseEnv, startAgentd } from '../support/daemon.ts';
import { FakeApi, signToken } from '../support/fake-api.ts';
import { FakeModel } from '../support/fake-model.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Answer, type Post, post } from '../support/webchat.ts';

const random = () => randomBytes(18).toString('base64');
/** Secrets with characters that JSON, URLs and forms encode. */
const SECRETS = {
  JWT_SECRET_KEY: `jwt "secret"/+=&%é ${random()}`,
  API_PASSWORD: `api 'password'\\/+=&%ü ${random()}`,
  TOKEN_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  AGENT_API_KEY: `sk-${randomBytes(24).toString('base64url')}`,
};

/** Every token that a test creates is a canary, valid or not. */
class Tokens {
  readonly canaries: Canary[] = [];
  readonly all: string[] = [];

  keep(name: string, token: string): string {
    this.canaries.push(...tokenCanaries(name, token));
    this.all.push(token);
    return token;
  }

  make(name: string, claims: Record<string, unknown> = {}, secret = SECRETS.JWT_SECRET_KEY): string {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const token = signToken({ sub: 'ada', email: 'ada@example.com', exp, jti: random(), ...claims }, secret);
    return this.keep(name, token);
  }
}

interface Stage {
  env: Record<string, string>;
  directory: string;
  api: FakeApi;
  model: FakeModel;
  tokens: Tokens;
  /** All output, by its source. */
  places: Map<string, Buffer>;
}

async function stage(env: Record<string, string>): Promise<Stage> {
  const directory = temporaryFolder('canary');
  const api = await FakeApi.start({
    secret: SECRETS.JWT_SECRET_KEY,
    password: SECRETS.API_PASSWORD,
    // An API that echoes the request.
    find: ({ query, bearer }) => ({ email: query.userEmail, seen: `Bearer ${bearer}` }),
  });
  const model = await FakeModel.start();
  return {
    directory,
    api,
    model,
    tokens: new Tokens(),
    places: new Map(),
    env: {
      ...SECRETS,
      ...api.env,
      API_PUBLIC_USER_FIELDS: 'email,seen',
      LOG_LEVEL: 'TRACE',
      JWT_DEBUG: 'true',
      LOG_FILE: 'agentd.log',
      LOOP_GUARD_ENABLED: 'false',
      ...env,
    },
  };
}

/** Sends a message and records the complete answer. */
async function say({ places }: Stage, daemon: Agentd, body: unknown, options: Post = {}): Promise<Answer> {
  const answer = await post(daemon.url, body, options);
  const headers = JSON.stringify([...answer.headers]);
  places.set(
    `answer ${places.size}`,
    Buffer.from(`${answer.status} ${headers} ${JSON.stringify(answer.body)}`),
  );
  return answer;
}

/** Runs commands and records their output. */
async function ask(stage: Stage, commands: readonly { args: string[]; input?: string }[]): Promise<void> {
  for (const { args, input } of commands) {
    const { stdout, stderr, code } = await command(args, {
      cwd: stage.directory,
      env: { ...baseEnv(stage.directory), ...stage.env },
      ...(input === undefined ? {} : { input }),
    });
    const shown = args.map((arg) => arg.slice(0, 24)).join(' ');
    expect([0, 1], `${shown}: ${stderr}`).toContain(code);
    stage.places.set(`agentd ${shown} #${stage.places.size}`, Buffer.from(`${stdout}\n${stderr}`));
  }
}

function keepFiles({ directory, places }: Stage, when: string): void {
  for (const name of ['agentd.log', 'state/agentd.db', 'state/agentd.db-wal', 'state/agentd.db-shm']) {
    const path = join(directory, name);
    if (existsSync(path)) places.set(`${name} ${when}`, readFileSync(path));
  }
}

/**
 * Returns the canaries that were found in any output. The default tokens are known only from the requests to the API.
 */
function leaks({ places, tokens, api }: Stage): string[] {
  const defaults = new Set(
    api.requests.flatMap(({ sub, bearer }) => (sub === 'service' && bearer ? [bearer] : [])),
  );
  expect(defaults.size, 'number of default tokens').toBeGreaterThan(0);
  return findCanaries(
    [
      ...Object.entries(SECRETS).map(([name, value]) => ({ name, value })),
      ...tokens.canaries,
      ...[...defaults].flatMap((token) => tokenCanaries('the default token', token)),
    ],
    places,
  );
}

it('the search finds a canary in every encoding', () => {
  const value = 'a "secret"/+ of é';
  const canaries = [{ name: 'planted', value }];
  const encodedAt = (offset: number, how: 'base64' | 'base64url' | 'hex') =>
    Buffer.concat([randomBytes(offset), Buffer.from(value), randomBytes(5)]).toString(how);
  const planted = [
    `x${value}x`,
    JSON.stringify({ value }),
    encodeURIComponent(value),
    new URLSearchParams({ value }).toString(),
    encodedAt(3, 'hex'),
    ...[0, 1, 2, 3, 4].flatMap((offset) => [encodedAt(offset, 'base64'), encodedAt(offset, 'base64url')]),
  ];
  for (const content of planted) {
    expect(findCanaries(canaries, new Map([['here', Buffer.from(content)]])), content).not.toEqual([]);
  }
  expect(findCanaries(canaries, new Map([['here', Buffer.from('nothing of it')]]))).toEqual([]);
});

it('no token and no secret is in logs, answers, state files or the output of commands', async () => {
  const here = await stage({});
  const { tokens, api } = here;
  const daemon = await startAgentd({ directory: here.directory, env: here.env });
  const ids: string[] = [];
  const tell = async (rest: Record<string, unknown>, options: Post = {}) => {
    const body = { user_id: 'ada', message: 'Who am I?', ...rest };
    const { body: answered } = await say(here, daemon, body, options);
    for (const id of [answered.session_id, answered.request_id]) if (typeof id === 'string') ids.push(id);
    return answered;
  };

  // Every source of a token, and every reason why a token is invalid.
  const { session_id } = await tell({}, { bearer: tokens.make('a header') });
  await tell({ session_id, jwt_token: tokens.make('a body') });
  await tell({ session_id, metadata: { jwt_token: tokens.make('metadata') } });
  await tell({ session_id: 'chosen', jwt_token: tokens.make('a chosen session') });
  await tell({ jwt_token: tokens.make('an expired one', { exp: 1000 }) });
  await tell({ jwt_token: tokens.make('a forged one', {}, 'another secret') });
  await tell({ jwt_token: tokens.make('one without email', { email: undefined }) });
  await tell({ jwt_token: tokens.make('one of the future', { nbf: 9_999_999_999 }) });
  await tell({ jwt_token: tokens.make('a malformed one').replace('.', ',') });
  await tell({ jwt_token: `${tokens.make('one with a fourth part')}.${random()}` });
  await tell({ jwt_token: tokens.keep('an odd header', oddToken('{ "alg": "HS512" }')) });
  // Refusals, each with a token.
  await tell({ session_id, user_id: 'bob' }, { bearer: tokens.make('a stranger', { sub: 'bob' }) });
  await tell({ session_id }, { bearer: tokens.make('another person', { sub: 'bob' }) });
  await tell({ message: '' }, { bearer: tokens.make('a refused body') });
  await tell({ message: 5, jwt_token: [tokens.make('a list')] });
  await say(here, daemon, `{"jwt_token":"${tokens.make('broken JSON')}"`, {});
  await say(here, daemon, { jwt_token: tokens.make('a large body'), message: 'x'.repeat(300_000) });
  await tell(
    {},
    { headers: { 'Content-Type': 'text/plain', Authorization: `Bearer ${tokens.make('a type')}` } },
  );
  await tell({}, { path: `/none?token=${tokens.make('a query')}` });
  await tell({}, { path: `/none/${tokens.make('a path')}` });
  await tell({}, { headers: { Cookie: `jwt_token=${tokens.make('a cookie')}` } });
  await tell({}, { headers: { Authorization: `Basic ${tokens.make('another scheme')}` } });
  // Refusals of a token by the API, and default credentials that fail.
  const refused = tokens.make('one that the API refuses');
  api.revoke(refused);
  await tell({ jwt_token: refused });
  await tell({ message: 'Who is bob@example.com?' });
  for (const how of [
    { status: 500, body: 'no' },
    { status: 200, body: 'no JSON' },
    { redirect: 'http://127.0.0.1:9/' },
  ]) {
    api.misbehave('/users', how, 1);
    await tell({ jwt_token: tokens.make('a failing API') });
  }
  api.revokeDefaultTokens();
  api.misbehave('/authentication_token', { status: 401, body: { error: SECRETS.API_PASSWORD } }, 2);
  await tell({ message: 'Who is bob@example.com?' });
  // A token in the text of a message, or in a field of its metadata where no token belongs.
  const typed = tokens.make('a typed one');
  for (const text of [
    typed,
    `Bearer ${typed}`,
    `my token is "${typed}", ok?`,
    `https://x.example/?token=${typed}&a=1`,
    `jwt_token_${typed}`,
  ]) {
    await tell({
      session_id,
      message: text,
      metadata: { page_url: `https://x.example/#${typed}`, user_name: typed },
    });
  }
  await tell({
    message: `my token is ${tokens.keep('a typed one with an odd header', oddToken('{\n "alg": "HS256" }'))}`,
  });
  await tell({
    message: `my token is ${tokens.keep('a typed one with an odd start', oddToken('{ "alg": "HS256" }'))}`,
  });

  keepFiles(here, 'while it runs');
  const [first = ''] = tokens.all;
  await ask(here, [
    ...[...new Set(ids)].slice(0, 12).map((id) => ({ args: ['explain', id, '--json'] })),
    { args: ['explain', session_id, '--limit', '50'] },
    { args: ['sessions', 'list', '--json'] },
    { args: ['sessions', 'show', session_id, '--json'] },
    { args: ['sessions', 'show', session_id] },
    { args: ['sessions', 'show', 'chosen', '--json'] },
    { args: ['config', 'show', '--json'] },
    { args: ['config', 'show'] },
    { args: ['config', 'check'] },
    { args: ['config', 'reference', '--json'] },
    { args: ['token', 'verify', '-', '--json'], input: first },
    { args: ['token', 'verify', '-'], input: first },
    { args: ['token', 'verify', first] },
    { args: ['token', 'verify', '-', '--json'], input: tokens.make('a forged one to verify', {}, 'another') },
    { args: ['logs', '-n', '500', '--json'] },
    { args: ['logs', '-n', '500'] },
    { args: ['status', '--url', daemon.url, '--json'] },
  ]);
  expect(await daemon.stop()).toBe(0);
  here.places.set('stdout', Buffer.from(daemon.stdout()));
  here.places.set('stderr', Buffer.from(daemon.stderr()));
  keepFiles(here, 'when it has stopped');

  expect(leaks(here)).toEqual([]);
  // The search really covers these outputs: it finds data that may be shown.
  expect(here.places.get('stderr')?.includes('token checked')).toBe(true);
  expect(here.places.get('agentd.log when it has stopped')?.includes('token checked')).toBe(true);
  expect(here.places.get('state/agentd.db when it has stopped')?.includes('sealed.v1.')).toBe(true);
  expect(here.places.get('state/agentd.db when it has stopped')?.includes('my token is')).toBe(true);
  expect(api.requests.some(({ bearer }) => bearer === first)).toBe(true);
});

it('no token and no secret is in prompts and answers of a model, or in traces of its failures', async () => {
  const here = await stage({ AGENT_MODEL: 'fake', AGENT_TIMEOUT_SECONDS: '2' });
  const { tokens, model } = here;
  here.env.AGENT_BASE_URL = model.url;
  const daemon = await startAgentd({ directory: here.directory, env: here.env });
  const first = await say(here, daemon, {
    user_id: 'ada',
    message: 'hello',
    jwt_token: tokens.make('a first one'),
  });
  const { session_id } = first.body;
  const tell = (message: string) =>
    say(here, daemon, {
      user_id: 'ada',
      session_id,
      message,
      jwt_token: tokens.make(`the one of "${message.slice(0, 12)}"`),
    });
  const prompts: unknown[] = [];
  const play = async (message: string, script: Parameters<FakeModel['script']>[0]) => {
    model.script(script);
    const answer = await tell(message);
    prompts.push(...model.requests.map(({ authorization: _, ...prompt }) => prompt));
    return answer;
  };

  const typed = tokens.make('a typed one');
  const said = await play(`remember ${typed}`, [{ text: ['I will ', `remember ${typed}`, '.'] }]);
  expect(said.body.response).toBe('I will remember [token].');
  await play('again', [{ text: ['Well.'] }]);
  await play('look me up', [{ tools: [{ name: 'get_user', args: {} }] }, { text: ['Done.'] }]);
  await play('look bob up', [
    { tools: [{ name: 'get_user', args: { email: 'bob@example.com' } }] },
    { text: ['Done.'] },
  ]);
  await say(here, daemon, { user_id: 'eve', message: 'nobody' });
  model.script([{ tools: [{ name: 'get_user', args: { email: 'bob@example.com' } }] }, { text: ['Done.'] }]);
  await say(here, daemon, { user_id: 'eve', message: 'look bob up' });
  prompts.push(...model.requests.map(({ authorization: _, ...prompt }) => prompt));
  const echo = { error: { message: `Incorrect API key provided: ${SECRETS.AGENT_API_KEY}` } };
  expect((await play('refuse', [{ status: 401, body: echo }])).status).toBe(502);
  await play('bad request', [{ status: 400, body: echo }]);
  await play('garbage', [{ garbage: '{"choices":' }]);
  await play('cut', [{ cut: ['half an '] }]);
  expect((await play('too slow', () => 'hang')).status).toBe(504);

  keepFiles(here, 'while it runs');
  await ask(here, [
    { args: ['explain', session_id, '--limit', '50', '--json'] },
    { args: ['explain', session_id, '--limit', '50'] },
    { args: ['sessions', 'show', session_id, '--json'] },
    { args: ['logs', '-n', '500', '--json'] },
  ]);
  expect(await daemon.stop()).toBe(0);
  here.places.set('stdout', Buffer.from(daemon.stdout()));
  here.places.set('stderr', Buffer.from(daemon.stderr()));
  here.places.set('prompts', Buffer.from(JSON.stringify(prompts)));
  keepFiles(here, 'when it has stopped');

  expect(leaks(here)).toEqual([]);
  expect(prompts.length).toBeGreaterThan(8);
  expect(here.places.get('prompts')?.includes('remember [token]')).toBe(true);
});

/** Makes a text in the form of a token, with the given header. */
function oddToken(header: string): string {
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const payload = JSON.stringify({ sub: 'ada', email: 'ada@example.com', exp: 9_999_999_999, jti: random() });
  return `${encode(header)}.${encode(payload)}.${randomBytes(32).toString('base64url')}`;
}
