import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { capture } from '../cli/captured-output.ts';
import { placeWith, SECRET, VALID } from './place.ts';

/** Runs `agentd config …` with these settings and no others. */
async function config(words: string, settings: Record<string, string>) {
  const { cwd } = placeWith(
    {},
    {
      '.env': Object.entries(settings)
        .map(([name, value]) => `${name}='${value}'`)
        .join('\n'),
    },
  );
  vi.spyOn(process, 'cwd').mockReturnValue(cwd);
  for (const name of [...Object.keys(VALID), 'NODE_ENV']) vi.stubEnv(name, undefined);
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  const stdout = capture();
  const stderr = capture();
  const code = await runProgram(['config', ...words.split(' ')], { stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

describe('config reference NAME', () => {
  it('describes one setting, also if its name is in lower case', async () => {
    const { code, stdout } = await config('reference port', {});
    expect([code, stdout]).toEqual([
      0,
      'PORT\n    Port to listen on; 0 chooses a free port.\n    A whole number from 0 to 65535; default 8080.\n',
    ]);
    expect(JSON.parse((await config('reference PORT --json', {})).stdout)).toMatchObject({ maximum: 65_535 });
  });

  it('exits with 1 for an unknown setting, and suggests a similar one', async () => {
    expect(await config('reference JWT_SECRETKEY', {})).toEqual({
      code: 1,
      stdout: '',
      stderr: "agentd: there is no setting 'JWT_SECRETKEY'\nDid you mean JWT_SECRET_KEY?\n",
    });
    expect((await config('reference nothing', {})).stderr).toContain('`agentd config reference` lists all.');
    // The problems of such a key name it.
    expect((await config('reference tools', {})).stderr).toBe(
      'agentd: \'tools\' is not a setting, but a key of the configuration file\nThe section "Tools" of agentd-settings(5) describes it.\n',
    );
  });
});

describe('config check', () => {
  it('says that everything is valid, and names the channels', async () => {
    expect(await config('check', VALID)).toEqual({
      code: 0,
      stdout: 'configuration is valid\nchannels: webchat\n',
      stderr: '',
    });
  });

  it('prints warnings on stderr', async () => {
    const { code, stderr } = await config('check', { ...VALID, NODE_ENV: 'test', JWT_VERIFY_EXP: 'false' });
    expect(code).toBe(0);
    expect(stderr).toBe('warning: JWT_VERIFY_EXP=false: expired tokens are accepted; for development only\n');
  });

  it('exits with 78 and all problems on stderr', async () => {
    const { code, stdout, stderr } = await config('check', { PORT: 'abc' });
    expect(code).toBe(78);
    expect(stdout).toBe('');
    expect(stderr).toContain('agentd: the configuration has 3 problems:\n\n  PORT=abc (.env)\n');
    expect(stderr).toContain('  JWT_ALGORITHM\n    wrong: is not set\n');
    // Only the first sentence about a setting that is missing; `config reference` has the others.
    expect(stderr).toMatch(/ {4}right: a string, or several: .* or the PEM public key for RS256\.\n/);
  });

  it('checks the agent in the same way as the daemon does at its start', async () => {
    const model = { AGENT_MODEL: 'm', AGENT_BASE_URL: 'http://127.0.0.1:9/v1' };
    expect(await config('check', { ...VALID, ...model })).toMatchObject({ code: 0, stderr: '' });
    expect(await config('check', { ...VALID, ...model, AGENT_INSTRUCTIONS: './none.md' })).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(
        / AGENT_INSTRUCTIONS=\.\/none\.md \(\.env\)\n {4}wrong: names .*none\.md, /,
      ),
    });
    expect(await config('check', { ...VALID, AGENT_MODEL: 'nobody:m' })).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('names the provider `nobody`, which is not installed'),
    });
    const itself = fileURLToPath(import.meta.resolve('./place.ts'));
    expect(await config('check', { ...VALID, AGENT_RUNTIME: itself })).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/ AGENT_RUNTIME=.*\n {4}wrong: names .*place\.ts, which has no default/),
    });
  });

  it('prints one document with --json', async () => {
    const { code, stdout } = await config('check --json', { ...VALID, PORT: 'abc' });
    expect(code).toBe(78);
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      channels: ['webchat'],
      problems: [{ setting: 'PORT', value: 'abc', source: '.env', problem: 'is not a whole number' }],
    });
  });
});

describe('config show', () => {
  it.each([
    [{}, 'sqlite', 'sqlite', 'builtin'],
    [
      { REDIS_URL: 'redis://localhost', AGENT_MODEL: 'm', AGENT_BASE_URL: 'http://localhost/v1' },
      'redis',
      'none',
      'llm',
    ],
    [
      { SESSION_BACKEND: 'postgres', DATABASE_URL: 'postgres://localhost/a' },
      'postgres',
      'postgres',
      'builtin',
    ],
  ])('shows what an unset setting is because of others: %o', async (more, session, memory, runtime) => {
    const { stdout } = await config('show --json', { ...VALID, ...more });
    const shown = (name: string) =>
      JSON.parse(stdout).find((setting: { name: string }) => setting.name === name);
    expect(shown('SESSION_BACKEND').value).toBe(session);
    expect(shown('MEMORY_BACKEND')).toMatchObject({ value: memory, source: 'default' });
    expect(shown('AGENT_RUNTIME')).toMatchObject({ value: runtime, source: 'default' });
  });

  it('lists first the settings that are set, with their source and without secrets', async () => {
    const { code, stdout } = await config('show', { ...VALID, PORT: '9000' });
    const lines = stdout.split('\n').map((line) => line.split(/\s+/));
    expect(code).toBe(0);
    expect(lines.slice(0, 5)).toEqual([
      ['SETTING', 'VALUE', 'SOURCE'],
      ['PORT', '9000', '.env'],
      ['JWT_SECRET_KEY', '[secret]', '.env'],
      ['JWT_ALGORITHM', 'HS256', '.env'],
      ['WEBCHAT_ENABLED', 'true', '.env'],
    ]);
    expect(lines).toContainEqual(['HOST', '127.0.0.1', 'default']);
    expect(lines).toContainEqual(['JWT_ISSUER', '-', 'unset']);
    expect(stdout).not.toContain(SECRET);
  });

  it('shows with --set only the settings that are set', async () => {
    const { stdout } = await config('show --set', VALID);
    expect(stdout.trimEnd().split('\n')).toHaveLength(4);
  });

  it('prints with --json an array in which each value has its own type', async () => {
    const list = JSON.parse((await config('show --json', { ...VALID, PORT: '9000' })).stdout);
    expect(list).toContainEqual({ name: 'PORT', value: 9000, source: '.env', secret: false });
    expect(list).toContainEqual({ name: 'JWT_SECRET_KEY', value: '[secret]', source: '.env', secret: true });
    expect(list).toContainEqual({ name: 'JWT_ISSUER', value: null, source: 'unset', secret: false });
    expect(JSON.stringify(list)).not.toContain(SECRET);
  });

  it('never shows a private key that was set instead of the public key', async () => {
    const pem = '-----BEGIN RSA PRIVATE KEY-----\\nMIIEowIBAAKCAQEA\\n-----END RSA PRIVATE KEY-----';
    for (const JWT_ALGORITHM of ['HS256', 'RS256']) {
      for (const command of ['show', 'show --json', 'check --json']) {
        const { stdout, stderr } = await config(command, { ...VALID, JWT_ALGORITHM, JWT_PUBLIC_KEY: pem });
        expect(stdout + stderr).not.toContain('MIIEowIBAAKCAQEA');
      }
    }
  });

  it('shows even a broken configuration, and exits with 78', async () => {
    const { code, stdout, stderr } = await config('show --set', { ...VALID, PORT: 'abc' });
    expect(code).toBe(78);
    expect(stdout).toMatch(/^PORT +abc +\.env$/m);
    expect(stderr).toContain('is not a whole number');
  });
});

describe('config reference', () => {
  it('prints the settings of the daemon and of its channels', async () => {
    const { code, stdout } = await config('reference', {});
    expect(code).toBe(0);
    expect(stdout).toContain('\nPORT\n    Port to listen on; 0 chooses a free port.\n');
    expect(stdout).toContain('The channel webchat\n\nWEBCHAT_ENABLED\n');
  });

  it('prints a JSON Schema with --json, and an example with --example', async () => {
    const schema = JSON.parse((await config('reference --json', {})).stdout);
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    expect((await config('reference --example', {})).stdout).toContain('\n# PORT: 8080\n');
  });
});
