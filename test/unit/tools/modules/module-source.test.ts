import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ToolAnswer, ToolContext } from '../../../../src/agent/index.ts';
import { ConfigurationError } from '../../../../src/daemon/settings/problem.ts';
import { describeSource } from '../../../../src/daemon/tools/describe-source.ts';
import { loadModuleTools } from '../../../../src/daemon/tools/modules/module-source.ts';
import type { ModuleEntry } from '../../../../src/daemon/tools/source-entry.ts';
import type { Tool } from '../../../../src/daemon/tools/tool.ts';
import { ALICE, FakeApi, signToken } from '../../../support/fake-api.ts';
import { anonymous, secret } from '../../../support/people-of-api.ts';
import { contextOf, sessionOf, type TestContext } from '../../../support/request-context.ts';
import { accessTo, type BoundTool, bindOne } from '../../../support/tools.ts';

const token = signToken({ sub: 'user-1', email: ALICE.email, tenant_id: 7, team: 'blue' }, secret);
const alice = { sub: 'user-1', email: ALICE.email, token };
let folder: string;
let written = 0;
let api: FakeApi;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'module-source-'));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  api = await FakeApi.start({ secret });
});
afterEach(() => api.close());

/** The tools of a module with this code. */
async function toolsOf(code: string, api_base_url: string | undefined = api.url): Promise<readonly Tool[]> {
  const module = `./tool-${++written}.ts`;
  await writeFile(join(folder, module), code);
  const entry: ModuleEntry = { kind: 'module', location: 'tools[0] (agentd.yaml, line 3)', module, folder };
  return loadModuleTools(entry, describeSource(entry, api_base_url));
}

async function problemsOf(code: string): Promise<string[]> {
  const error = await toolsOf(code).then(
    () => expect.fail('the module must be refused'),
    (caught: unknown) => caught,
  );
  if (!(error instanceof ConfigurationError)) throw error;
  for (const { setting } of error.problems) expect(setting).toBe('tools[0] (agentd.yaml, line 3)');
  return error.problems.map(({ problem, right }) => `${problem} → ${right}`);
}

const RECORD = `description: 'Looks.', parameters: { type: 'object', properties: {} }`;

/** A tool whose `call` has this body. */
const calling = (body: string, members = `effect: 'read'`) =>
  `import type { ToolContext, ToolDefinition } from 'agentd/agent';
   export default {
     name: 'look', ${RECORD}, ${members},
     async call(args: Record<string, unknown>, { api, person, idempotency_key }: ToolContext) { ${body} },
   } satisfies ToolDefinition;`;

async function bind(code: string, context: TestContext): Promise<BoundTool> {
  const [tool] = await toolsOf(code);
  if (!tool) expect.fail('there is no tool');
  const { trace, signal } = context;
  return bindOne(tool, { context, access: accessTo(api.url), trace, signal });
}

async function call(code: string, context: TestContext): Promise<ToolAnswer> {
  return (await bind(code, context)).bound.call({});
}

const signedIn = () => contextOf(sessionOf('s', 'u', alice));

describe('loading a module of tools', () => {
  test('accepts one exported tool or a list, and keeps the names', async () => {
    const [one] = await toolsOf(calling('return 1'));
    expect(one).toMatchObject({
      name: 'look',
      effect: 'read',
      credentials: 'user-or-default',
      confirm: 'never',
    });
    const list = await toolsOf(
      `const tool = (name, effect) => ({ name, effect, ${RECORD}, call: () => name });
       export default [tool('a', 'read'), tool('b', 'write')];`,
    );
    expect(list.map(({ name, credentials, confirm }) => [name, credentials, confirm])).toEqual([
      ['a', 'user-or-default', 'never'],
      ['b', 'user', 'always'],
    ]);
  });

  test.each([
    ['export const tool = 1;', 'has no default export (it exports only tool)'],
    ['throw new Error("no luck");', 'cannot be loaded: no luck'],
    ['export default [];', 'exports an empty list'],
    ['export default 7;', 'its tool does not fit: it is 7'],
    [`export default { name: 'a b', ${RECORD}, effect: 'read', call() {} };`, '`name` is "a b"'],
    [`export default { name: 'a', ${RECORD}, effect: 'both', call() {} };`, '`effect` is "both"'],
    [`export default { name: 'a', ${RECORD}, effect: 'read' };`, '`call` is missing'],
    [
      `export default { name: 'a', ${RECORD}, effect: 'read', call() {}, credentials: 'exchange' };`,
      '`credentials`',
    ],
    [
      `export default { name: 'a', ${RECORD}, effect: 'write', call() {}, confirm: { when: [{ argument: 'x', over: 'a' }] } };`,
      '`confirm.when.0.over` is not a number',
    ],
    [
      `export default { name: 'a', ${RECORD}, effect: 'write', call() {}, confirm: { when: [{ argument: 'x', over: 1 }] } };`,
      '`confirm` names `x`, which is not an argument of the tool',
    ],
    [
      `export default { name: 'a', ${RECORD}, effect: 'read', call() {}, publik: 'all' };`,
      '`publik` is not a member',
    ],
    [
      `export default { name: 'a', ${RECORD}, effect: 'read', call() {}, public: 'name' };`,
      '`public` is "name"',
    ],
    [
      `export default { name: 'a', description: 'x', parameters: { type: 'object', properties: { n: { type: 'no' } } }, effect: 'read', call() {} };`,
      '`parameters` cannot be used',
    ],
    [
      `const defs = Object.fromEntries(Array.from({ length: 40 }, (_, n) =>
         ['d' + n, n === 39 ? {} : { allOf: [{ $ref: '#/$defs/d' + (n + 1) }, { $ref: '#/$defs/d' + (n + 1) }] }]));
       export default { name: 'a', description: 'x', parameters: { type: 'object', $ref: '#/$defs/d0', $defs: defs }, effect: 'read', call() {} };`,
      '`parameters` cannot be used: has too many alternatives',
    ],
  ])('reports %s as a configuration error', async (code, problem) => {
    const problems = await problemsOf(code);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  test('reports all problems of a list at once', async () => {
    expect(await problemsOf(`export default [{}, { name: 'a', ${RECORD}, effect: 'read' }];`)).toHaveLength(
      6,
    );
  });

  test('reports a missing file as a configuration error', async () => {
    const entry: ModuleEntry = { kind: 'module', location: 'tools[1]', module: './none.ts', folder };
    await expect(loadModuleTools(entry, describeSource(entry, undefined))).rejects.toThrow(
      `names a file that does not exist: ${join(folder, 'none.ts')}`,
    );
  });

  test('reports a package that is not installed as a configuration error', async () => {
    const entry: ModuleEntry = { kind: 'module', location: 'tools[1]', module: 'none-such', folder };
    await expect(loadModuleTools(entry, describeSource(entry, undefined))).rejects.toThrow(
      'names the package none-such, which is not installed',
    );
  });
});

describe('a tool of a module', () => {
  test('gets in `person` the claims of the person who sent the message, and never the token', async () => {
    const code = calling('return { person, all: JSON.stringify(arguments[1]) }');
    const answer = await call(code, signedIn());
    expect(answer).toMatchObject({
      ok: true,
      result: { person: { sub: 'user-1', email: ALICE.email, tenant_id: 7, team: 'blue' } },
    });
    expect(JSON.stringify(answer)).not.toContain(token);
    expect(await call(code, anonymous())).toMatchObject({ ok: true, result: { person: null } });
  });

  test('sends the token of the person with each request of `api`, and gets the parsed JSON', async () => {
    const code = calling(`return api.get('/users', { query: { userEmail: '${ALICE.email}' } })`);
    expect(await call(code, signedIn())).toEqual({ ok: true, result: ALICE });
    expect(api.seen('/users').map(({ sub, query }) => [sub, query])).toEqual([
      ['user-1', { userEmail: ALICE.email }],
    ]);
  });

  test('can send an encoded slash in a path if the request says `allow_slash`', async () => {
    api.misbehave('/files/a%2Fb', { status: 200, body: { found: true } });
    const code = calling(`return api.get('/files/' + encodeURIComponent('a/b'), { allow_slash: true })`);
    expect(await call(code, signedIn())).toEqual({ ok: true, result: { found: true } });
  });

  test('sends the body of every method of `api` as JSON', async () => {
    api.misbehave('/things', { status: 200, body: { done: true } });
    const code = calling(
      `for (const method of ['post', 'put', 'patch', 'delete'])
         await api[method]('/things', { query: { n: 1, left: undefined }, body: { method } });
       return 'sent';`,
      `effect: 'write', confirm: 'never'`,
    );
    expect(await call(code, signedIn())).toEqual({ ok: true, result: 'sent' });
    expect(api.seen('/things').map(({ method, query, body }) => [method, query, body])).toEqual(
      ['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [
        method,
        { n: '1' },
        { method: method.toLowerCase() },
      ]),
    );
  });

  test('sends `form` as a form, with lists and objects, and `headers`', async () => {
    api.misbehave('/things', { status: 200, body: {} });
    const code = calling(
      `return api.post('/things', {
         form: { To: '+41 &', Tag: ['a', 'b'], left: undefined, card: { name: 'x', lines: ['1'] }, items: [{ id: 1 }] },
         headers: { 'X-Mode': 'test' },
       });`,
      `effect: 'write', confirm: 'never'`,
    );
    expect(await call(code, signedIn())).toEqual({ ok: true, result: {} });
    const [seen] = api.seen('/things');
    expect(seen?.sub).toBe('user-1');
    expect(seen?.headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      'x-mode': 'test',
    });
    expect([...new URLSearchParams(String(seen?.body))]).toEqual([
      ['To', '+41 &'],
      ['Tag', 'a'],
      ['Tag', 'b'],
      ['card[name]', 'x'],
      ['card[lines][]', '1'],
      ['items[0][id]', '1'],
    ]);
  });

  test('sends `multipart` with fields and files', async () => {
    api.misbehave('/files', { status: 200, body: {} });
    const code = calling(
      `return api.post('/files', {
         multipart: {
           file: { bytes: new Uint8Array([65, 66]), file_name: '../a.bin' },
           note: 'x', n: 7, meta: { a: 1 },
           text: [{ text: 'ü', content_type: 'text/csv' }],
         },
       });`,
      `effect: 'write', confirm: 'never'`,
    );
    expect(await call(code, signedIn())).toEqual({ ok: true, result: {} });
    const [seen] = api.seen('/files');
    const form = await new Response(String(seen?.body), {
      headers: { 'content-type': String(seen?.headers['content-type']) },
    }).formData();
    const parts = [...form].map(([name, value]) =>
      typeof value === 'string' ? [name, value] : [name, value.name, value.type, value.size],
    );
    expect(parts).toEqual([
      ['note', 'x'],
      ['n', '7'],
      ['meta', '{"a":1}'],
      ['file', 'a.bin', 'application/octet-stream', 2],
      ['text', 'file', 'text/csv', 2],
    ]);
  });

  test.each([
    ['{ form: { a: null } }', '`form.a` cannot be null, because a form has no null: leave it out'],
    [
      '{ form: { a: { b: [] } } }',
      '`form.a.b` cannot be empty, because a form has no empty list or object: leave it out',
    ],
    ['{ multipart: { a: null } }', '`multipart.a` is null: leave it out'],
    ['{ multipart: { a: { base64: "?" } } }', '`multipart.a` has a `base64` that is not valid base64'],
    ['{ multipart: { a: { bytes: new Uint8Array(9_000_000) } } }', '`multipart.a` is larger than 8192 KiB'],
    ['{ body: {}, form: {} }', 'a request has only one of `body`, `form` and `multipart`'],
  ])('can catch the mistake of a request with %s, which is not sent', async (request, message) => {
    const code = calling(
      `try { await api.post('/things', ${request}); } catch (error) { return error.message; }`,
      `effect: 'write', confirm: 'never'`,
    );
    expect(await call(code, signedIn())).toEqual({ ok: true, result: message });
    expect(api.requests).toEqual([]);
  });

  test('gives the agent only the public fields of data that `api` fetched with default credentials', async () => {
    const get = `return api.get('/users', { query: { userEmail: '${ALICE.email}' } })`;
    expect(await call(calling(get), anonymous())).toEqual({ ok: true, result: {} });
    const some = calling(get, `effect: 'read', public: ['name', 'none']`);
    expect(await call(some, anonymous())).toEqual({ ok: true, result: { name: ALICE.name } });
    const all = calling(get, `effect: 'read', public: 'all'`);
    expect(await call(all, anonymous())).toEqual({ ok: true, result: ALICE });
    expect(api.seen('/users').map(({ sub }) => sub)).toEqual(['service', 'service', 'service']);
  });

  test('can catch a refusal of the API as { status, message }, without the body if the person is not signed in', async () => {
    api.misbehave('/things', { status: 422, body: { error: 'no such order 17' } });
    const code = calling(
      `try { await api.get('/things'); } catch ({ status, message }) { return { status, message }; }`,
    );
    expect(await call(code, signedIn())).toEqual({
      ok: true,
      result: { status: 422, message: 'The business API answered 422: {"error":"no such order 17"}' },
    });
    expect(await call(code, anonymous())).toEqual({
      ok: true,
      result: { status: 422, message: 'The business API answered 422.' },
    });
  });

  test('that does not catch a refusal of the API passes the refusal on to the agent', async () => {
    api.misbehave('/things', { status: 409, body: { error: 'shipped' } });
    const code = calling(`return api.get('/things')`);
    expect(await call(code, signedIn())).toEqual({
      ok: false,
      message: 'The call was refused with the status 409. The answer was: {"error":"shipped"}',
    });
    expect(await call(code, anonymous())).toEqual({
      ok: false,
      message: 'The call was refused with the status 409.',
    });
  });

  test('can catch an error without a status if the API cannot be reached', async () => {
    api.misbehave('/things', { redirect: 'http://127.0.0.1:1/elsewhere' });
    const code = calling(
      `try { await api.get('/things'); } catch ({ status, message }) { return { status, message }; }`,
    );
    expect(await call(code, signedIn())).toEqual({
      ok: true,
      result: { status: null, message: 'The business API answered with a redirect that is not followed.' },
    });
  });

  test('that throws any other error causes a warning in the log, and the agent gets no details', async () => {
    const { bound, logged } = await bind(calling(`throw new Error('the password is hunter2')`), signedIn());
    expect(await bound.call({})).toEqual({
      ok: false,
      message: 'The tool failed because of an internal error.',
    });
    expect(logged.lines).toMatchObject([{ level: 'warn', msg: 'tool failed unexpectedly', tool: 'look' }]);
  });

  test.each([
    ['in another error', `throw new Error('it failed: ' + error.message)`],
    ['as the cause of another error', `throw new Error('it failed', { cause: error })`],
    ['as a text', `throw error.message`],
  ])('that passes on a refusal of the API %s puts its answer into no log', async (_how, passOn) => {
    api.misbehave('/things', { status: 422, body: { error: 'Ada lives in Bonn' } });
    const { bound, logged } = await bind(
      calling(`try { await api.get('/things'); } catch (error) { ${passOn}; }`),
      signedIn(),
    );
    await bound.call({});
    expect(logged.lines).toMatchObject([{ msg: 'tool failed unexpectedly' }]);
    expect(inspect(logged.lines, { depth: 9 })).toContain('The business API answered 422.');
    expect(inspect(logged.lines, { depth: 9 })).not.toContain('Bonn');
  });

  test('gets an idempotency_key for a write, and null for a read', async () => {
    const write = calling('return idempotency_key', `effect: 'write', confirm: 'never'`);
    expect(await call(write, signedIn())).toMatchObject({
      ok: true,
      result: expect.stringMatching(/^\S{16,}$/),
    });
    expect(await call(calling('return idempotency_key'), signedIn())).toEqual({ ok: true, result: null });
  });

  test('is told session, user and app of the message', async () => {
    const context = signedIn();
    const { session_id, user_id, app_name } = context;
    const told = calling(
      'const { session_id, user_id, app_name } = arguments[1]; return { session_id, user_id, app_name }',
    );
    expect(await call(told, context)).toEqual({ ok: true, result: { session_id, user_id, app_name } });
  });

  test('that keeps its context can no longer use it when its call has ended', async () => {
    await call(calling('globalThis.keptContext = arguments[1]; return api.get("/users")'), signedIn());
    const { keptContext: kept } = globalThis as unknown as { keptContext: ToolContext };
    const before = api.requests.length;
    for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const)
      await expect(kept.api[method]('/users')).rejects.toThrow(
        'the call of the tool `look` has ended, so its context can no longer be used',
      );
    expect(() => kept.log.warn({}, 'later')).toThrow('has ended');
    expect(() => kept.log.debug({}, 'later')).toThrow('has ended');
    expect(kept.signal.aborted).toBe(true);
    expect(api.requests).toHaveLength(before);
  });

  test('that does not wait for a request has it canceled when its call ends', async () => {
    api.misbehave('/slow', 'hang');
    Object.assign(globalThis, { slowCame: api.next('/slow') });
    const code = calling('globalThis.keptRequest = api.get("/slow"); await globalThis.slowCame; return 1');
    expect(await call(code, signedIn())).toEqual({ ok: true, result: 1 });
    const { keptRequest } = globalThis as unknown as { keptRequest: Promise<unknown> };
    const ended = expect(keptRequest).rejects.toThrow('the call of the tool `look` has ended');
    // Without that, the request would end only after its own time limit of 60 s.
    await expect.poll(() => api.abandoned).toEqual(['/slow']);
    await ended;
  });

  test('that still runs when its run is aborted can no longer use its context', async () => {
    Reflect.deleteProperty(globalThis, 'keptContext');
    const stop = new AbortController();
    const context = { ...signedIn(), signal: stop.signal };
    const { bound } = await bind(
      calling('globalThis.keptContext = arguments[1]; await new Promise(() => {})'),
      context,
    );
    const asked = bound.call({});
    await expect.poll(() => globalThis).toHaveProperty('keptContext.signal.aborted', false);
    const { keptContext: kept } = globalThis as unknown as { keptContext: ToolContext };
    stop.abort(new Error('stopped'));
    await expect(asked).rejects.toThrow('stopped');
    await expect(kept.api.get('/users')).rejects.toThrow('the call of the tool `look` has ended');
    expect(() => kept.log.warn({}, 'later')).toThrow('has ended');
    expect(api.requests).toEqual([]);
  });

  test('that returns undefined gives the agent null', async () => {
    expect(await call(calling(''), signedIn())).toEqual({ ok: true, result: null });
  });
});
