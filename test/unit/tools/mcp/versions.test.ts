import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { McpServer } from '../../../support/mcp-server.ts';
import { clientWith, mcpSource, type SourceUnderTest, send } from '../../../support/mcp-source.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures');

let test: SourceUnderTest;
afterEach(() => test.source.stop());

async function startProgram(file: string, env: Record<string, string> = {}): Promise<void> {
  test = mcpSource({ command: [process.execPath, join(FIXTURES, file)], env });
  await test.source.start();
  await test.until(() => test.source.list().length === 1);
}

describe('a program of version 2026-07-28', () => {
  it('answers calls, and its changed tool is withheld', async () => {
    await startProgram('stateless-mcp-program.ts');
    expect(await send(test.tool('docs_search'), { query: 'a' })).toMatchObject({ result: 'a' });
    await send(test.tool('docs_search'), { query: 'change' });
    await test.until(() => test.source.list().length === 0);
    expect(test.source.state().withheld[0]?.because).toContain('agentd tools trust');
  });
});

describe('a program that expects the handshake first', () => {
  it('and otherwise ends gets it', async () => {
    await startProgram('older-mcp-program.ts', { MODE: 'ends' });
    expect(await send(test.tool('docs_search'), {})).toMatchObject({ result: 'older' });
  });

  it.each(['silent', 'slow'])('and otherwise is %s gets it after five seconds', async (MODE) => {
    const clock = new VirtualClock(0);
    const command = [process.execPath, join(FIXTURES, 'older-mcp-program.ts')] as const;
    test = mcpSource({ command: [...command], env: { MODE } }, { clock });
    const starting = test.source.start();
    // The program says that it got the question.
    await test.until(() => test.lines.some(({ line }) => line === 'server/discover'));
    clock.moveTo(5_000);
    await starting;
    await test.until(() => test.source.list().length === 1);
    expect(await send(test.tool('docs_search'), {})).toMatchObject({ result: 'older' });
    expect(test.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});

describe('a server of an older version over HTTP', () => {
  let server: McpServer;

  afterEach(() => server.close());

  it.each([
    ['400 and no error of the protocol', 400, 'Bad Request: no session'],
    ['404', 404, ''],
    ['500 and an error', 500, '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"broken"}}'],
    ['an error that names only older versions', 400, UNSUPPORTED()],
  ])('that answers the question for versions with %s gets the handshake', async (_what, status, body) => {
    server = await McpServer.open();
    server.intercept = ({ rpc }, { response }) => {
      if (rpc !== 'server/discover') return false;
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    test = mcpSource({ url: server.url });
    await test.source.start();
    expect(await send(test.tool('docs_search'), { query: 'x' })).toMatchObject({ outcome: 'answered' });
  });

  it('that never answers the question for versions gets the handshake ten seconds later', async () => {
    server = await McpServer.open();
    server.intercept = ({ rpc }) => rpc === 'server/discover';
    const clock = new VirtualClock(0);
    test = mcpSource({ url: server.url }, { clock });
    const starting = test.source.start();
    await test.until(() => server.of('server/discover').length === 1);
    clock.moveTo(10_000);
    await starting;
    await test.until(() => test.source.list().length === 1);
  });

  it('is asked for its versions only once, and not again for each person', async () => {
    server = await McpServer.open();
    test = mcpSource({ url: server.url }, { tools: { search: { effect: 'read', credentials: 'user' } } });
    await test.source.start();
    for (const token of ['t1', 't2'])
      await send(test.tool('docs_search'), { query: 'x' }, { client: clientWith(token) });
    expect(server.of('server/discover')).toHaveLength(1);
    expect(server.of('initialize')).toHaveLength(3);
  });

  it('that refuses the question with 401 needs credentials, and gets no handshake', async () => {
    server = await McpServer.open();
    server.intercept = (_request, { response }) => {
      response.writeHead(401).end();
      return true;
    };
    test = mcpSource({ url: server.url });
    await test.source.start();
    expect(server.requests).toHaveLength(1);
    expect(test.source.state().detail).toContain('401');
  });
});

function UNSUPPORTED(): string {
  const data = { supported: ['2025-11-25'], requested: '2026-07-28' };
  return JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code: -32022, message: 'Unsupported', data } });
}
