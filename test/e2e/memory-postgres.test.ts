import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { FakeModel } from '../support/fake-model.ts';
import { callMemoryTools, lastPrompt } from '../support/memory-model.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

describe.skipIf(withoutPostgres)('memory in Postgres', () => {
  let server: Postgres;
  let model: FakeModel;
  let env: Record<string, string>;
  let daemon: DaemonHere;
  let bearer: string;
  let admin: string;
  let sessions = 0;

  beforeAll(async () => {
    server = await Postgres.start();
    model = await FakeModel.start();
    callMemoryTools(model);
    env = {
      AGENT_BASE_URL: model.url,
      AGENT_MODEL: 'fake',
      MEMORY_BACKEND: 'cloudsql',
      DATABASE_URL: (await server.createDatabase()).replace('postgres@', 'postgres:the-password@'),
    };
    daemon = await startDaemonHere({ env: { ...env, ADMIN_LISTEN: '127.0.0.1:0' } });
    admin = /(http:\S+)\/live/.exec(daemon.stdout())?.[1] ?? '';
    bearer = await token({ sub: 'ada' });
  });

  async function say(message: string, to = daemon): Promise<string> {
    const body = { user_id: 'visitor', message, session_id: `s${++sessions}` };
    const answer = await post(to.url, body, { bearer });
    expect(answer.status).toBe(200);
    return String(answer.body.response);
  }
  const run = (...args: string[]) =>
    command(args, { env: { ...env, STATE_DIR: join(daemon.directory, 'state') } });
  /** Waits until the probes of the daemon have noticed it. */
  const ready = (status: string) =>
    expect
      .poll(async () => (await (await fetch(`${admin}/ready`)).json()) as object)
      .toMatchObject({ status });
  const outages = () => daemon.log().filter(({ msg }) => String(msg).startsWith('long-term memory'));

  it('is shared by commands and by daemons that each have their own store', async () => {
    const other = await startDaemonHere({ env });
    expect(await say('remember I like green tea')).toContain('I like green tea');
    await say('Which tea?', other);
    expect(lastPrompt(model)).toContain('"text":"I like green tea"');
    const { stdout } = await run('memory', 'search', '--sub', 'ada', 'tea', '--json');
    expect(JSON.parse(stdout)).toMatchObject([{ text: 'I like green tea', tainted: false }]);
    const doctor = await run('doctor', '--json');
    expect(doctor.stdout).toContain('can be reached and has the schema of this version');
    expect(daemon.stdout()).toMatch(/ {2}memory {4}postgres 127\.0\.0\.1:\d+\/agentd_1\n/);
    expect(daemon.stdout() + daemon.stderr() + doctor.stdout).not.toContain('the-password');
  });

  it('is unavailable if the server is down, but the daemon still replies', async () => {
    await server.pause();
    expect(await say('Which tea?')).toBe('Hello.');
    expect(lastPrompt(model)).not.toContain('green tea');
    expect(await say('recall tea')).toContain('Memory cannot be reached at the moment.');
    expect(await say('remember I like milk')).toContain('Nothing was remembered.');
    expect(outages()).toHaveLength(1);
    await ready('degraded');
    const status = await command(['status'], {
      env: { PORT: new URL(daemon.url).port, ADMIN_LISTEN: new URL(admin).host },
    });
    expect(status).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(' is degraded: Long-term memory cannot be reached; '),
    });
    expect(await (await fetch(`${admin}/metrics`)).text()).toContain('\nagentd_memory_available 0\n');

    const list = await run('memory', 'list', '--sub', 'ada');
    expect(list).toMatchObject({ code: 69, stdout: '' });
    expect(list.stderr).toContain('cannot use the memory in postgres 127.0.0.1');
    const { stdout } = await run('doctor', '--json');
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ check: 'memory', outcome: 'failed', advice: expect.any(String) }),
    );
    expect(list.stderr + stdout).not.toContain('the-password');

    const late = await startDaemonHere({ env });
    expect(await say('Which tea?', late)).toBe('Hello.');

    await server.resume();
    await ready('ok');
    expect(await (await fetch(`${admin}/metrics`)).text()).toContain('\nagentd_memory_available 1\n');
    expect(await say('recall tea')).toContain('I like green tea');
    await say('Which tea?');
    expect(lastPrompt(model)).toContain('"text":"I like green tea"');
    expect(outages().map(({ level }) => level)).toHaveLength(2);
  });
});
