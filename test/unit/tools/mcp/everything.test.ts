import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { McpEntry } from '../../../../src/daemon/tools/source-entry.ts';
import { mcpSource, type SourceUnderTest, send } from '../../../support/mcp-source.ts';

const ROOT = dirname(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'),
);
const PROGRAM = join(ROOT, 'dist/index.js');
const LOOPBACK = join(import.meta.dirname, '../../../fixtures/listen-on-loopback.ts');

const TOOLS = Object.fromEntries(
  [
    'echo',
    'get-sum',
    'get-structured-content',
    'get-tiny-image',
    'get-resource-links',
    'get-resource-reference',
    'trigger-long-running-operation',
    'trigger-url-elicitation',
  ].map((name) => [name, { effect: 'read' } as const]),
);

let program: ChildProcess | null = null;

/** Starts the server as a program that listens on a free port. */
async function overHttp(): Promise<McpEntry['server']> {
  const args = ['--import', LOOPBACK, PROGRAM, 'streamableHttp'];
  program = spawn(process.execPath, args, {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (!program.stderr) throw new Error('no standard error');
  for await (const line of createInterface(program.stderr)) {
    const port = /^port (\d+)$/.exec(line)?.[1];
    if (port !== undefined) {
      program.stderr.resume();
      return { url: `http://127.0.0.1:${port}/mcp` };
    }
  }
  throw new Error('the server has ended');
}

const overStdio = async (): Promise<McpEntry['server']> => ({
  command: [process.execPath, PROGRAM, 'stdio'],
  env: {},
});

describe.each([
  ['standard input and output', overStdio],
  ['streamable HTTP', overHttp],
])('the reference server of the protocol over %s', (_transport, start) => {
  let test: SourceUnderTest;

  beforeAll(async () => {
    test = mcpSource(await start(), { tools: TOOLS });
    await test.source.start();
    // The server offers this tool only when it knows that the client can show pages.
    await test.until(() => test.source.list().some(({ name }) => name === 'docs_trigger-url-elicitation'));
  });
  afterAll(async () => {
    await test.source.stop();
    if (program === null) return;
    const ended = once(program, 'exit');
    program.kill();
    await ended;
    program = null;
  });

  const call = (name: string, args: Record<string, unknown> = {}) => send(test.tool(`docs_${name}`), args);

  it('offers its tools', () => {
    expect(test.source.state()).toEqual({ status: 'ok', detail: null, withheld: [] });
    expect(test.source.list()).toHaveLength(Object.keys(TOOLS).length);
  });

  it('answers with text, structured content, links and resources', async () => {
    expect(await call('echo', { message: 'hello' })).toMatchObject({ result: 'Echo: hello' });
    expect(await call('get-sum', { a: 2, b: 3 })).toMatchObject({ result: 'The sum of 2 and 3 is 5.' });
    expect(await call('get-structured-content', { location: 'Chicago' })).toMatchObject({
      result: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
    });
    expect(await call('get-tiny-image')).toMatchObject({
      result: expect.stringContaining('[left out: image'),
    });
    expect(await call('get-resource-links', { count: 2 })).toMatchObject({
      result: expect.stringContaining('demo://resource/'),
    });
    expect(await call('get-resource-reference', { resourceType: 'Text', resourceId: 1 })).toMatchObject({
      result: expect.stringContaining('demo://resource/dynamic/text/1'),
    });
  });

  it('reports progress of a call, and then answers it', async () => {
    const progressed = vi.fn();
    const args = { duration: 0.2, steps: 4 };
    expect(await send(test.tool('docs_trigger-long-running-operation'), args, { progressed })).toMatchObject({
      outcome: 'answered',
      result: expect.stringContaining('completed'),
    });
    expect(progressed).toHaveBeenCalledTimes(4);
  });

  it('asks for a page to be opened, in an error and in the middle of a call', async () => {
    const url = 'https://example.com/connect';
    const inError = await call('trigger-url-elicitation', { url, errorPath: true });
    expect(inError).toMatchObject({
      outcome: 'input_required',
      needs: [
        { url: 'https://modelcontextprotocol.io/', message: expect.stringContaining('Open this link') },
      ],
    });
    expect(await call('trigger-url-elicitation', { url, message: 'Open it.' })).toMatchObject({
      outcome: 'answered',
      result: expect.stringContaining('cancelled'),
      needs: [{ url, message: 'Open it.' }],
    });
  });
});
