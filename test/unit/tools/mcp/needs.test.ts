import { type InputRequiredResult, inputRequired } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ServerPage } from '../../../../src/daemon/tools/answer.ts';
import type { ToolEntry } from '../../../../src/daemon/tools/source-entry.ts';
import { mcpSource, type SourceUnderTest } from '../../../support/mcp-source.ts';
import { personOf } from '../../../support/people-of-api.ts';
import { contextOf, sessionOf } from '../../../support/request-context.ts';
import { StatelessMcpServer } from '../../../support/stateless-mcp-server.ts';
import { accessTo, bindOne, type RunOptions } from '../../../support/tools.ts';

const ADA = personOf('ada');
const PAGE = 'https://docs.example.com/connect?id=7';

describe('what an MCP server needs before it carries out a call', () => {
  let server: StatelessMcpServer;
  let test: SourceUnderTest;
  let pages: ServerPage[];

  beforeEach(async () => {
    server = await StatelessMcpServer.open();
    pages = [];
  });
  afterEach(async () => {
    await test.source.stop();
    await server.close();
  });

  async function callWith(
    needs: InputRequiredResult,
    { entry = { credentials: 'user' }, run = {} }: { entry?: ToolEntry; run?: RunOptions } = {},
  ) {
    server.call = () => needs;
    test = mcpSource({ url: server.url }, { tools: { search: { effect: 'read', ...entry } } });
    await test.source.start();
    const context = contextOf(sessionOf('s', 'user of s', ADA));
    const options = {
      access: accessTo(undefined),
      trace: context.trace,
      showPage: (page: ServerPage) => void pages.push(page),
      ...run,
    };
    return bindOne(test.tool('docs_search'), { context, ...options }).bound.call({ query: 'x' });
  }
  const pageAt = (url: string): InputRequiredResult =>
    inputRequired({
      inputRequests: { page: inputRequired.elicitUrl({ message: 'Connect your account.', url }) },
    });
  const shown = (url: string) => callWith(pageAt(url));

  it('is told to the agent', async () => {
    const form = {
      mode: 'form' as const,
      message: 'Please provide your\nuser name.',
      requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } } },
    };
    const needs: InputRequiredResult = {
      resultType: 'input_required',
      inputRequests: { login: { method: 'elicitation/create', params: form } },
    };
    expect(await callWith(needs)).toEqual({
      ok: false,
      message: 'Nothing was done: the other system needs Please provide your user name. (name).',
    });
    expect(pages).toEqual([]);
  });

  it('is a page, which the daemon shows to the person, without its address in the words of the agent', async () => {
    const answer = await callWith(pageAt(PAGE));
    expect(pages).toEqual([{ source: 'docs', url: PAGE }]);
    expect(answer).toEqual({
      ok: false,
      message:
        'Nothing was done: the other system needs Connect your account. The person must open a page. Its address is at the end of your reply: do not write it yourself. Tell the person to ask again afterward.',
    });
    expect(server.of('tools/call')).toHaveLength(1);
  });

  it('is not shown if the call had no credential of the person, because the server would take all people for one', async () => {
    const answer = await callWith(pageAt(PAGE), { entry: { credentials: 'none' } });
    expect(pages).toEqual([]);
    expect(answer).toMatchObject({ message: expect.stringContaining('does not know who the person is') });
  });

  it('is not shown where other people can read it', async () => {
    const answer = await callWith(pageAt(PAGE), { run: { audience: { memory_of: null, shared: true } } });
    expect(pages).toEqual([]);
    expect(answer).toMatchObject({ message: expect.stringContaining('in a private conversation') });
  });

  it('is shown with its host in ASCII form', async () => {
    await shown('https://d\u043ecs.example.com/a b?\u202e');
    expect(pages).toEqual([{ source: 'docs', url: 'https://xn--dcs-sed.example.com/a%20b?%E2%80%AE' }]);
  });

  it.each([
    ['http', 'http://docs.example.com/'],
    ['a script', 'javascript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['credentials', 'https://ada:secret@docs.example.com/'],
    ['the token of the person', `https://docs.example.com/?token=${ADA.token}`],
    ['too many characters', `https://docs.example.com/${'x'.repeat(2_000)}`],
    ['no address', 'connect'],
  ])('is not shown if its address is or contains %s', async (_what, url) => {
    const answer = await shown(url);
    expect(pages).toEqual([]);
    expect(JSON.stringify(answer)).not.toContain(url);
  });

  it('is told in words that are masked before they are cut, so that no part of a token is left', async () => {
    const message = `${'x'.repeat(490)} ${ADA.token}`;
    const answer = await callWith(
      inputRequired({ inputRequests: { page: inputRequired.elicitUrl({ message, url: PAGE }) } }),
    );
    expect(JSON.stringify(answer)).not.toContain(ADA.token.slice(0, 5));
    expect(JSON.stringify(answer)).not.toContain('x'.repeat(501));
  });

  it('is shown if it is on this machine', async () => {
    await shown('http://127.0.0.1:8080/connect');
    expect(pages).toMatchObject([{ url: 'http://127.0.0.1:8080/connect' }]);
  });

  it('is told to the agent, too, if it is something that this service cannot do', async () => {
    const asked = inputRequired.createMessage({ messages: [], maxTokens: 10 });
    expect(await callWith(inputRequired({ inputRequests: { asked } }))).toMatchObject({
      message: 'Nothing was done: the other system needs something that this service cannot do: sampling.',
    });
  });

  it('is nothing more than another try, and is told so', async () => {
    expect(await callWith(inputRequired({ requestState: 'opaque' }))).toMatchObject({
      message: 'Nothing was done: the other system needs something else first.',
    });
  });
});
