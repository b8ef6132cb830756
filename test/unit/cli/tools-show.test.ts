import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { command as check } from '../../../src/cli/commands/config-check.ts';
import { command as list } from '../../../src/cli/commands/tools-list.ts';
import { command as show } from '../../../src/cli/commands/tools-show.ts';
import { configLocation } from '../../../src/cli/config-location.ts';
import { ProbeClient } from '../../../src/cli/doctor/finding.ts';
import { checkTools } from '../../../src/cli/doctor/services.ts';
import { configure } from '../../../src/daemon/settings/configure/configure.ts';
import { listenOnFreePort } from '../../support/free-ports.ts';
import { capturedOutput, exitCodeOf } from './captured-output.ts';
import { stubSettings, stubState } from './stub-settings.ts';

const document = (operations: Record<string, string>, id: object) =>
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Shop', version: '1' },
    paths: Object.fromEntries(
      Object.entries(operations).map(([operationId, description]) => [
        `/${operationId}/{id}`,
        {
          get: {
            operationId,
            description,
            parameters: [{ name: 'id', in: 'path', required: true, schema: id }],
          },
        },
      ]),
    ),
  });

describe('the commands that show tools', () => {
  let directory: string;

  beforeEach(() => {
    directory = stubState({
      MEMORY_BACKEND: 'none',
      API_BASE_URL: undefined,
      JWT_ALGORITHM: 'HS256',
    });
    stubSettings({ JWT_SECRET_KEY: 'a secret of the tests that is long enough' } as object);
  });

  function write(
    operations: Record<string, string>,
    base_url = 'https://shop.example.com',
    id: object = { type: 'string' },
  ): void {
    writeFileSync(join(directory, 'shop.json'), document(operations, id));
    const listed = Object.keys(operations).map((name) => `${name}: { bind: {} }`);
    writeFileSync(
      join(directory, 'agentd.yaml'),
      `tools: [{ openapi: ./shop.json, name: shop, base_url: "${base_url}", operations: { ${listed.join(', ')} } }]`,
    );
  }

  async function run(command: typeof list, args: string[] = [], options: { json?: boolean } = {}) {
    const { out, stdout, stderr } = capturedOutput(options);
    const code = await exitCodeOf(command, { args, options: {}, out });
    return { code, stdout: stdout.text, stderr: stderr.text };
  }

  it('show the schema, the policy, the tokens and the digest of one tool', async () => {
    write({ getOrder: 'Reads one \u001b[2Jorder.' });
    const { stdout } = await run(show, ['shop_getOrder']);
    expect(stdout).toContain('shop_getOrder');
    expect(stdout).toMatch(/credentials\s+none/);
    expect(stdout).toMatch(/tokens\s+about \d+/);
    expect(stdout).toContain('  Reads one \u{fffd}[2Jorder.');
    expect(stdout).toContain('"additionalProperties": false');

    const shown = JSON.parse((await run(show, ['shop_getOrder'], { json: true })).stdout);
    expect(shown).toMatchObject({
      name: 'shop_getOrder',
      source: 'shop',
      kind: 'openapi',
      origin: 'https://shop.example.com',
      effect: 'read',
      credentials: 'none',
      confirm: 'never',
      bind: {},
      timeout_seconds: 120,
      tokens: expect.any(Number),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      parameters: { type: 'object', required: ['id'] },
    });
    write({ getOrder: 'Reads another order.' });
    const changed = JSON.parse((await run(show, ['shop_getOrder'], { json: true })).stdout);
    expect(changed.digest).not.toBe(shown.digest);
  });

  it('show under which conditions a tool asks', async () => {
    write({ getOrder: 'Reads one order.' });
    const file = join(directory, 'agentd.yaml');
    const conditions = 'confirm: { when: [{ argument: id, in: ["7"] }] }';
    writeFileSync(file, readFileSync(file, 'utf8').replace('bind: {}', conditions));
    expect((await run(show, ['shop_getOrder'])).stdout).toMatch(
      /confirm\s+when id in 7; or written in the last 10 minutes\n/,
    );
    expect((await run(list)).stdout).toMatch(/shop_getOrder +shop +read +none +when /);
    const shown = JSON.parse((await run(show, ['shop_getOrder'], { json: true })).stdout);
    expect(shown.confirm).toEqual({ when: [{ argument: 'id', in: ['7'] }] });
    const listed = JSON.parse((await run(list, [], { json: true })).stdout) as {
      name: string;
      confirm: unknown;
    }[];
    expect(listed.find(({ name }) => name === 'shop_getOrder')?.confirm).toEqual(shown.confirm);
  });

  it('refuse a name that no tool has', async () => {
    write({ getOrder: 'Reads one order.' });
    await expect(run(show, ['shop_nothing'])).rejects.toMatchObject({
      exitCode: 1,
      message: 'there is no tool shop_nothing',
    });
  });

  it('list the tokens of each tool and of all tools, without a warning', async () => {
    write({ getOrder: 'Reads one order.' });
    const { stdout, stderr } = await run(list);
    expect(stdout).toMatch(/^NAME +SOURCE +EFFECT +CREDENTIALS +CONFIRM +TOKENS +STATE/);
    const tools = JSON.parse((await run(list, [], { json: true })).stdout) as { tokens: number }[];
    const sum = tools.reduce((all, { tokens }) => all + tokens, 0);
    expect(stderr).toBe(`about ${sum} tokens in all\n`);
  });

  it('warn of a tool that is too large, as `config check` and `doctor` do', async () => {
    const ids = Array.from({ length: 2_000 }, (_, number) => `order-${number}`);
    write({ getOrder: 'Reads one order.' }, 'http://127.0.0.1:1', { type: 'string', enum: ids });
    const warning = 'the tool shop_getOrder has about';
    expect((await run(list)).stderr).toContain(`warning: the definition of ${warning}`);
    const checked = await run(check);
    expect(checked).toMatchObject({ code: 0, stderr: expect.stringContaining(warning) });
    expect(JSON.parse((await run(check, [], { json: true })).stdout).warnings).toEqual(
      expect.arrayContaining([expect.stringContaining(warning)]),
    );
    const findings = await checkTools(await configure(configLocation({})), new ProbeClient());
    expect(findings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          check: 'tools',
          outcome: 'warning',
          detail: expect.stringContaining(warning),
        }),
      ]),
    );
  });

  it('`doctor` connects to the address of each source, and names the key of the entry that is wrong', async () => {
    write({ getOrder: 'Reads one order.' }, 'http://127.0.0.1:1');
    expect(await checkTools(await configure(configLocation({})), new ProbeClient())).toEqual([
      {
        check: 'tools of shop',
        outcome: 'failed',
        detail: expect.stringContaining('http://127.0.0.1:1: it cannot be reached'),
        advice: expect.stringContaining('Check `base_url` of the entry shop'),
      },
    ]);
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
    });
    const url = await listening(server);
    write({ getOrder: 'Reads one order.' }, `${url}/v1`);
    expect(await checkTools(await configure(configLocation({})), new ProbeClient())).toEqual([
      { check: 'tools of shop', outcome: 'ok', detail: `${url} answers; shop_getOrder` },
    ]);
    expect(asked).toEqual(['HEAD /v1']);
  });

  it('`doctor` says what to do about an MCP server that cannot list its tools', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(401).end('Bearer token missing');
    });
    const url = await listening(server);
    writeFileSync(
      join(directory, 'agentd.yaml'),
      `tools: [{ mcp: "${url}", name: docs, tools: { search: } }]`,
    );
    expect(await checkTools(await configure(configLocation({})), new ProbeClient())).toEqual([
      {
        check: 'tools of docs',
        outcome: 'warning',
        detail: 'The server answered with status 401. It said: Bearer token missing',
        advice: expect.stringContaining('Set `list_credentials` of the entry'),
      },
    ]);
  });
});

/** Lets a server listen on a free port until the test ends. @returns its address */
async function listening(server: Server): Promise<string> {
  const port = await listenOnFreePort(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
