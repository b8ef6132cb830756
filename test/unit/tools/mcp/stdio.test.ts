import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import {
  clientWith,
  mcpSource,
  type SourceUnderTest,
  type SourceWanted,
  send,
} from '../../../support/mcp-source.ts';
import { bindOne } from '../../../support/tools.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const SOURCE = join(import.meta.dirname, '../../../fixtures/mcp-program.ts');
const directory = mkdtempSync(join(tmpdir(), 'agentd-mcp-program-'));
/** The program in one file: it starts many times, and most of a start would be the loading of its modules. */
const PROGRAM = join(directory, 'program.mjs');

beforeAll(() => {
  const require = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
  buildSync({
    ...{ entryPoints: [SOURCE], outfile: PROGRAM, bundle: true, platform: 'node', format: 'esm' },
    banner: { js: require },
  });
});
afterAll(() => rmSync(directory, { recursive: true }));

let test: SourceUnderTest;

async function start(env: Record<string, string> = {}, wanted: SourceWanted = {}): Promise<void> {
  test = mcpSource({ command: [process.execPath, PROGRAM], env }, wanted);
  await test.source.start();
  await test.until(() => test.source.list().length === 1);
}

const call = (query: string, signal = new AbortController().signal) =>
  send(test.tool('docs_search'), { query }, { signal });
const resultOf = async (query: string) => {
  const sent = await call(query);
  return sent.outcome === 'answered' ? String(sent.result) : JSON.stringify(sent);
};

describe('a running MCP server that is a program', () => {
  beforeAll(async () => {
    process.env.AGENT_API_KEY = 'secret-of-the-daemon';
    await start({ SHOP_KEY: 'its own key', MODE: 'loud' }, { secrets: [new Secret('its own key')] });
    delete process.env.AGENT_API_KEY;
  });
  afterAll(() => test.source.stop());

  it('answers calls, even concurrently', async () => {
    expect(test.source.info).toMatchObject({ origin: null, target: null, foreign: true });
    expect(await Promise.all(['a', 'b', 'c'].map(resultOf))).toEqual(['a', 'b', 'c']);
  });

  it('gets PATH and the variables of its entry, and nothing else of the environment', async () => {
    const environment = { PATH: process.env.PATH, SHOP_KEY: 'its own key', MODE: 'loud' };
    expect(JSON.parse(await resultOf('environment'))).toEqual(environment);
  });

  it('cannot tell the agent the secrets of its entry', async () => {
    const { bound } = bindOne(test.tool('docs_search'));
    const answer = await bound.call({ query: 'environment' });
    expect(JSON.stringify(answer)).toContain('[token]');
    expect(JSON.stringify(answer)).not.toContain('its own key');
  });

  it('is told that a call was cancelled, and its late answer reaches nobody', async () => {
    const abort = new AbortController();
    const late = call('late', abort.signal);
    while ((await resultOf('how late')) !== '{"begun":1,"cancelled":0}');
    abort.abort(new Error('the run is over'));
    await expect(late).rejects.toThrow('the run is over');
    while ((await resultOf('how late')) !== '{"begun":1,"cancelled":1}');
    expect(await resultOf('next')).toBe('next');
    expect(test.source.state().status).toBe('ok');
  });

  it('gets its standard error logged at debug level, with long lines shortened', async () => {
    const logged = () => test.lines.filter(({ msg }) => msg === 'a line of the program');
    // Its standard error is another pipe than its answers.
    await test.until(() => logged().length >= 100);
    await resultOf('x');
    const lines = logged();
    expect(lines).toHaveLength(100);
    expect(lines[0]).toMatchObject({ level: 'debug', source: 'docs', line: `${'y'.repeat(1_000)}…` });
    expect(lines[1]).toMatchObject({ line: 'line 0' });
  });
});

describe('an MCP server that is a program', () => {
  afterEach(() => test.source.stop());

  it('is started again after it has died, and the call during which it died may have been carried out', async () => {
    await start();
    const first = await resultOf('pid');
    expect(await call('die')).toMatchObject({ outcome: 'failed', reached: true, reason: 'mcp_unreachable' });
    // On a busy machine the program needs longer to start than a call waits for it.
    await expect.poll(() => resultOf('pid'), { timeout: 60_000 }).toMatch(/^\d+$/);
    expect(await resultOf('pid')).not.toBe(first);
  });

  it.each([
    ['flood', 'mcp_flood'],
    ['endless line', 'mcp_too_large'],
  ])('is stopped and started again after this output: %s', async (query, reason) => {
    await start();
    const pid = Number(await resultOf('pid'));
    expect(await call(query)).toMatchObject({ outcome: 'failed', reached: true, reason });
    await test.until(() => !isAlive(pid));
    expect(await resultOf('again')).toBe('again');
  });

  it('cannot offer a tool that it has changed until the change is trusted', async () => {
    const clock = new VirtualClock(0);
    await start({}, { clock });
    expect(await resultOf('change')).toBe('change');
    await test.inTime(clock, () => test.source.list().length === 0);
    expect(test.source.state().withheld[0]?.because).toContain('agentd tools trust docs_search');
  });

  it('cannot write the secrets of its entry into the log', async () => {
    await start({ SHOP_KEY: 'its own key', MODE: 'careless' }, { secrets: [new Secret('its own key')] });
    const logged = () => test.lines.filter(({ msg }) => msg === 'a line of the program');
    await test.until(() => logged().length > 0);
    expect(logged()).toMatchObject([{ line: 'begins with the key [token]' }]);
  });

  it('ends when the source is stopped, together with the programs that it started', async () => {
    await start({ MODE: 'child' });
    const pid = Number(await resultOf('pid'));
    const child = Number(test.lines.map(({ line }) => /^child (\d+)$/.exec(String(line))?.[1]).find(Boolean));
    expect([pid, child].map(isAlive)).toEqual([true, true]);
    await test.source.stop();
    await test.until(() => !isAlive(child));
    expect(isAlive(pid)).toBe(false);
  });

  it('is killed if it ignores the end of its input and SIGTERM', async () => {
    await start({ MODE: 'stubborn' });
    const pid = Number(await resultOf('pid'));
    await test.source.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('that cannot be started causes a warning', async () => {
    test = mcpSource({ command: ['/nonexistent/program'], env: {} });
    await test.source.start();
    expect(test.source.state()).toMatchObject({
      status: 'degraded',
      detail: 'The program cannot be started.',
    });
    expect(test.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it('cannot be given credentials', async () => {
    await start({}, { tools: { search: { credentials: 'user' } } });
    await expect(
      send(test.tool('docs_search'), { query: 'x' }, { client: clientWith('t1') }),
    ).rejects.toThrow('a program takes no credentials');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
