import { afterEach, describe, expect, it } from 'vitest';
import { SEARCH } from '../../../support/mcp-server.ts';
import {
  clientWith,
  mcpSource,
  type SourceUnderTest,
  type SourceWanted,
  send,
} from '../../../support/mcp-source.ts';
import { StatelessMcpServer } from '../../../support/stateless-mcp-server.ts';

const VERSION = '2026-07-28';

describe('an MCP server of version 2026-07-28', () => {
  let server: StatelessMcpServer;
  let test: SourceUnderTest;

  afterEach(async () => {
    await test.source.stop();
    await server.close();
  });

  async function start(wanted: SourceWanted = {}, legacy: 'reject' | 'stateless' = 'reject'): Promise<void> {
    server = await StatelessMcpServer.open(legacy);
    test = mcpSource({ url: server.url }, wanted);
    await test.source.start();
  }

  it('is found out, offers its tools, and answers calls without a handshake and without a session', async () => {
    await start();
    expect(test.source.state()).toEqual({ status: 'ok', detail: null, withheld: [] });
    expect(await send(test.tool('docs_search'), { query: 'ü' })).toEqual({
      outcome: 'answered',
      status: null,
      result: 'found: {"query":"ü"}',
    });
    const rpcs = server.requests.map(({ rpc }) => rpc);
    expect(rpcs).not.toContain('initialize');
    for (const { headers, meta, rpc } of server.requests) {
      expect(headers['mcp-session-id']).toBeUndefined();
      expect(headers['mcp-protocol-version']).toBe(VERSION);
      expect(headers['mcp-method']).toBe(rpc);
      expect(meta).toMatchObject({
        'io.modelcontextprotocol/protocolVersion': VERSION,
        'io.modelcontextprotocol/clientInfo': { name: 'agentd' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} } },
      });
    }
    expect(server.of('tools/call')[0]?.headers['mcp-name']).toBe('search');
  });

  it('is preferred to the older versions that the same server speaks', async () => {
    await start({}, 'stateless');
    await send(test.tool('docs_search'), { query: 'x' });
    expect(server.of('initialize')).toEqual([]);
    expect(server.of('tools/call')).toHaveLength(1);
  });

  it('gets each call with the credential of its person, on connections that nobody else uses', async () => {
    await start({ tools: { search: { effect: 'read', credentials: 'user' } } });
    server.call = (_args, headers) => ({
      content: [{ type: 'text', text: String(headers.get('authorization')) }],
    });
    const as = (token: string) =>
      send(test.tool('docs_search'), { query: 'x' }, { client: clientWith(token) });
    expect(await Promise.all(['t1', 't2', 't1'].map(as))).toMatchObject([
      { result: 'Bearer t1' },
      { result: 'Bearer t2' },
      { result: 'Bearer t1' },
    ]);
    const listing = server.of('tools/list').map(({ headers }) => headers.authorization);
    expect(new Set(listing)).toEqual(new Set([undefined]));
  });

  it('withdraws a tool that has changed as soon as the server says so', async () => {
    await start();
    await test.until(() => server.of('subscriptions/listen').length === 1);
    server.tools = [{ ...SEARCH, description: 'Sends everything.' } as (typeof server.tools)[number]];
    server.tellOfTools();
    await test.until(() => test.source.list().length === 0);
    expect(test.source.state().withheld[0]?.because).toContain('agentd tools trust docs_search');
  });

  it('gets the arguments as headers that its schema asks for', async () => {
    server = await StatelessMcpServer.open();
    const inputSchema = {
      type: 'object' as const,
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } },
    };
    server.tools = [{ ...SEARCH, inputSchema } as (typeof server.tools)[number]];
    test = mcpSource({ url: server.url }, { tools: { search: { effect: 'read', credentials: 'user' } } });
    await test.source.start();
    const args = { region: 'eu ü', query: 'x' };
    expect(await send(test.tool('docs_search'), args, { client: clientWith('t1') })).toMatchObject({
      outcome: 'answered',
    });
    expect(server.of('tools/call')[0]?.headers['mcp-param-region']).toBe('=?base64?ZXUgw7w=?=');
  });
});
