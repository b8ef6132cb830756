import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listenOnFreePort } from '../../../support/free-ports.ts';
import { McpServer, SEARCH } from '../../../support/mcp-server.ts';
import { mcpSource, type SourceUnderTest, type SourceWanted } from '../../../support/mcp-source.ts';
import { personOf } from '../../../support/people-of-api.ts';
import { contextOf, sessionOf } from '../../../support/request-context.ts';
import { accessTo, bindOne } from '../../../support/tools.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const ADA = personOf('ada');

describe('an MCP server that refuses every request without a credential', () => {
  let server: McpServer;
  let test: SourceUnderTest;
  /** The bearer tokens that the server accepts. */
  let accepted: string[];
  /** The forms that reached the token endpoint. */
  let forms: URLSearchParams[];
  const endpoint = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      forms.push(new URLSearchParams(Buffer.concat(pieces).toString()));
      const access_token = `issued-${forms.length}`;
      accepted.push(access_token);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token, token_type: 'Bearer', expires_in: 3600 }));
    });
  });

  beforeEach(async () => {
    accepted = ['of-the-service', ADA.token];
    forms = [];
    await listenOnFreePort(endpoint);
    server = await McpServer.open();
    server.tools = [SEARCH, { ...SEARCH, name: 'open' }];
    server.intercept = ({ authorization }, { response }) => {
      if (accepted.some((token) => authorization === `Bearer ${token}`)) return false;
      response.writeHead(401).end();
      return true;
    };
  });
  afterEach(async () => {
    await test.source.stop();
    await server.close();
    endpoint.close();
    await once(endpoint, 'close');
  });

  async function start(wanted: SourceWanted): Promise<void> {
    const tools = { search: { effect: 'read' }, open: { effect: 'read', credentials: 'none' } } as const;
    test = mcpSource({ url: server.url }, { tools, ...wanted });
    await test.source.start();
  }
  const callAs = async (person: typeof ADA | null, name = 'docs_search') => {
    const context = contextOf(sessionOf('s', 'user of s', person));
    return bindOne(test.tool(name), {
      context,
      access: accessTo(undefined),
      trace: context.trace,
    }).bound.call({
      query: 'x',
    });
  };
  const exchange = () => ({
    url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/token`,
    client_id: 'agentd',
    client_secret: 'client-secret',
    audience: 'docs',
  });
  const bearersOf = (...rpcs: string[]) => [
    ...new Set(server.requests.filter(({ rpc }) => rpcs.includes(rpc ?? '')).map((one) => one.authorization)),
  ];

  /** Refuses these requests with what was sent in them. */
  function echo(...rpcs: string[]): void {
    const { intercept } = server;
    server.intercept = (request, http) => {
      if (!rpcs.includes(request.rpc ?? '')) return intercept(request, http);
      const { id } = JSON.parse(http.body) as { id: number };
      const error = { code: -32603, message: `no access for ${request.authorization} nor ${ADA.token}` };
      http.response.writeHead(200, { 'content-type': 'application/json' });
      http.response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      return true;
    };
  }

  it('cannot be used without a listing credential, and says which key of the entry is missing', async () => {
    await start({ credentials: 'user' });
    expect(test.source.list()).toEqual([]);
    expect(test.source.state()).toMatchObject({
      detail: 'The server answered with status 401.',
      advice: expect.stringContaining('list_credentials'),
    });
  });

  describe('with `list_credentials: headers`', () => {
    const wanted = {
      credentials: 'user',
      list_credentials: 'headers',
      headers: { Authorization: 'Bearer of-the-service', 'X-Tenant': 'shop' },
    } as const;

    it('lists its tools with the fixed headers, and is called with the credential of each person', async () => {
      await start(wanted);
      expect(test.source.state()).toMatchObject({ status: 'ok' });
      expect(await callAs(ADA)).toEqual({ ok: true, result: 'found: {"query":"x"}' });
      expect(bearersOf('tools/list')).toEqual(['Bearer of-the-service']);
      expect(bearersOf('tools/call')).toEqual([`Bearer ${ADA.token}`]);
      expect(new Set(server.requests.map(({ headers }) => headers['x-tenant']))).toEqual(new Set(['shop']));
    });

    it('shows no fixed header to anybody if the server quotes it in a refusal', async () => {
      echo('tools/list');
      await start(wanted);
      expect(test.source.state().detail).toBe(
        'The server refused the request: no access for [token] nor [token]',
      );
      expect(JSON.stringify(test.lines)).not.toContain('of-the-service');
    });

    it('gets no call with the listing credential, not even from a tool without credentials', async () => {
      await start(wanted);
      expect(await callAs(null)).toMatchObject({ ok: false });
      expect(await callAs(ADA, 'docs_open')).toMatchObject({ ok: false });
      expect(server.of('tools/call')).toEqual([]);
      const sessions = server.requests.filter(({ session }) => session !== null);
      expect(new Set(sessions.map(({ authorization }) => authorization))).toEqual(
        new Set(['Bearer of-the-service']),
      );
    });

    it('sends no fixed cookie with the call of a person', async () => {
      await start({ ...wanted, headers: { ...wanted.headers, Cookie: 'session=service' } });
      await callAs(ADA);
      const cookies = server.requests.map(({ rpc, headers }) => [rpc, headers.cookie]);
      expect(cookies).toContainEqual(['tools/list', 'session=service']);
      expect(cookies).toContainEqual(['tools/call', undefined]);
    });
  });

  describe('with `list_credentials: exchange`', () => {
    it('lists its tools with a token of the service itself, never with one of a person', async () => {
      await start({ credentials: 'user', list_credentials: 'exchange', exchange: exchange() });
      expect(test.source.state()).toMatchObject({ status: 'ok' });
      expect(forms.map((form) => Object.fromEntries(form))).toEqual([
        { grant_type: 'client_credentials', audience: 'docs' },
      ]);
      expect(await callAs(ADA)).toMatchObject({ ok: true });
      expect(bearersOf('initialize', 'tools/list')).toContain('Bearer issued-1');
      expect(bearersOf('tools/list')).toEqual(['Bearer issued-1']);
      expect(bearersOf('tools/call')).toEqual([`Bearer ${ADA.token}`]);
      expect(forms).toHaveLength(1);
    });

    it('is called with the exchanged token of each person', async () => {
      await start({ credentials: 'exchange', list_credentials: 'exchange', exchange: exchange() });
      expect(await callAs(ADA)).toMatchObject({ ok: true });
      expect(forms.map((form) => form.get('subject_token'))).toEqual([null, ADA.token]);
      expect(bearersOf('tools/call')).toEqual(['Bearer issued-2']);
      expect(bearersOf('tools/list')).toEqual(['Bearer issued-1']);
    });

    it('gets a new token for the listing after a 401', async () => {
      const clock = new VirtualClock(0);
      await start({ credentials: 'user', list_credentials: 'exchange', exchange: exchange(), clock });
      accepted = [];
      const before = server.of('tools/list').length;
      clock.moveTo(5_000);
      clock.moveTo(5 * 60_000);
      await test.until(() => server.of('tools/list').length === before + 2);
      expect(bearersOf('tools/list')).toEqual(['Bearer issued-1', 'Bearer issued-2']);
      expect(test.source.state()).toMatchObject({ status: 'ok' });
    });

    it('shows its own token to nobody if the server quotes it in a refusal', async () => {
      echo('tools/list');
      await start({ credentials: 'user', list_credentials: 'exchange', exchange: exchange() });
      expect(test.source.state().detail).toBe(
        'The server refused the request: no access for Bearer [token] nor [token]',
      );
      expect(test.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
      expect(JSON.stringify(test.lines)).not.toContain('issued-');
    });

    it('shows the token of a person to nobody if the server quotes it in a refusal', async () => {
      await start({ credentials: 'exchange', list_credentials: 'exchange', exchange: exchange() });
      echo('initialize', 'server/discover');
      const context = contextOf(sessionOf('s', 'user of s', ADA));
      const { bound, logged } = bindOne(test.tool('docs_search'), {
        ...{ context, access: accessTo(undefined), trace: context.trace },
      });
      expect(await bound.call({ query: 'x' })).toEqual({
        ok: false,
        message: 'The server refused the request: no access for Bearer [token] nor [token]',
      });
      expect(logged.lines).toContainEqual(
        expect.objectContaining({ msg: 'the call of an MCP server failed' }),
      );
      expect(JSON.stringify([logged.lines, context.trace.lines])).not.toContain('issued-');
    });

    it('cannot be used while the authorization server gives no token, and says so', async () => {
      const nowhere = { ...exchange(), url: 'http://127.0.0.1:1/token' };
      await start({ credentials: 'user', list_credentials: 'exchange', exchange: nowhere });
      expect(test.source.state()).toMatchObject({
        status: 'degraded',
        detail: expect.stringContaining('other system'),
        advice: expect.stringContaining('exchange'),
      });
      expect(server.requests).toEqual([]);
    });
  });
});
