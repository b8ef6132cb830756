import { setImmediate as tick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { McpServer, SEARCH } from '../../../support/mcp-server.ts';
import { clientWith, mcpSource, type SourceUnderTest, send } from '../../../support/mcp-source.ts';
import { seededRandom } from '../../../support/random.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const PERSONS = 20;
const CALLS = 150;

describe('one MCP server for many people', () => {
  let server: McpServer;
  let test: SourceUnderTest;

  beforeEach(async () => {
    server = await McpServer.open();
    server.tools = [SEARCH, { ...SEARCH, name: 'open' }];
    test = mcpSource(
      { url: server.url },
      {
        // The clock is virtual, so that a busy machine does not look like a slow server.
        clock: new VirtualClock(0),
        tools: { search: { effect: 'read', credentials: 'user' }, open: { effect: 'read' } },
      },
    );
    await test.source.start();
  });
  afterEach(async () => {
    await test.source.stop();
    await server.close();
  });

  it('sends each call with the credential of its person, in a session that nobody else uses', async () => {
    const random = seededRandom(7);
    server.call = async ({ args, authorization }) => {
      // Answers arrive in a different order from their calls.
      for (let ticks = random.below(6); ticks > 0; ticks--) await tick();
      return { content: [{ type: 'text', text: `${String(args.query)} for ${authorization}` }] };
    };
    const one = async (number: number) => {
      const person = random.below(PERSONS + 2);
      const token = person < PERSONS ? `token-${person}` : null;
      for (let ticks = random.below(20); ticks > 0; ticks--) await tick();
      const query = `call ${number} of ${token}`;
      const tool = test.tool(token === null ? 'docs_open' : 'docs_search');
      const sent = await send(tool, { query }, { client: clientWith(token) });
      const bearer = token === null ? 'null' : `Bearer ${token}`;
      expect(sent).toEqual({ outcome: 'answered', status: null, result: `${query} for ${bearer}` });
    };
    await Promise.all(Array.from({ length: CALLS }, (_, number) => one(number)));

    const calls = server.of('tools/call');
    expect(calls).toHaveLength(CALLS);
    for (const { args, authorization } of calls) {
      const token = /of (.*)$/.exec(String(args?.query))?.[1];
      expect(authorization).toBe(token === 'null' ? null : `Bearer ${token}`);
    }
    const carriedBy = new Map<string, Set<string | null>>();
    for (const { session, authorization } of server.requests)
      if (session !== null) carriedBy.set(session, (carriedBy.get(session) ?? new Set()).add(authorization));
    for (const [session, bearers] of carriedBy) expect([session, bearers.size]).toEqual([session, 1]);
    // Requests without a person share one session, which also lists the tools.
    expect([...carriedBy.values()].filter((bearers) => bearers.has(null))).toHaveLength(1);
    expect(server.of('tools/list').map(({ authorization }) => authorization)).not.toContain(
      expect.any(String),
    );
  });

  it('keeps a limited number of connections, and closes some to make room for the next person', async () => {
    for (let person = 0; person < 80; person++)
      await send(test.tool('docs_search'), { query: 'x' }, { client: clientWith(`token-${person}`) });
    expect(server.of('initialize')).toHaveLength(81);
    await test.until(() => server.sessions.length <= 65);
    expect(server.sessions.length).toBeGreaterThan(40);
  });

  it('makes a call wait while its person uses four connections', async () => {
    const gate = Promise.withResolvers<void>();
    let open = 0;
    let most = 0;
    server.call = async ({ args }) => {
      if (args.query !== 'x') return { content: [] };
      most = Math.max(most, ++open);
      await gate.promise;
      open--;
      return { content: [] };
    };
    const client = clientWith('token-1');
    const calls = Array.from({ length: 10 }, () =>
      send(test.tool('docs_search'), { query: 'x' }, { client }),
    );
    const abort = new AbortController();
    const waiting = send(test.tool('docs_search'), { query: 'x' }, { client, signal: abort.signal });
    await test.until(() => open === 4);
    // Calls of other people are not delayed. Without a limit, a fifth connection would be open by the time that these
    // calls are answered.
    for (const token of ['token-2', 'token-3', 'token-4'])
      await send(test.tool('docs_search'), { query: 'y' }, { client: clientWith(token) });
    abort.abort(new Error('the run is over'));
    await expect(waiting).rejects.toThrow('the run is over');
    gate.resolve();
    expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toEqual(Array(10).fill('answered'));
    expect(most).toBe(4);
  });

  it('never reuses a connection whose call was aborted, so that a late answer reaches nobody', async () => {
    const late = Promise.withResolvers<void>();
    server.call = async ({ args }) => {
      if (args.query === 'slow') await late.promise;
      return { content: [{ type: 'text', text: String(args.query) }] };
    };
    const client = clientWith('token-1');
    const abort = new AbortController();
    const slow = send(test.tool('docs_search'), { query: 'slow' }, { client, signal: abort.signal });
    await test.until(() => server.of('tools/call').length === 1);
    abort.abort(new Error('the run is over'));
    await expect(slow).rejects.toThrow('the run is over');
    late.resolve();
    expect(await send(test.tool('docs_search'), { query: 'quick' }, { client })).toMatchObject({
      result: 'quick',
    });
    const sessions = server.of('tools/call').map(({ session }) => session);
    expect(new Set(sessions).size).toBe(2);
  });
});
