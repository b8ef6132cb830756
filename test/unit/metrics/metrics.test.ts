import { beforeEach, describe, expect, it } from 'vitest';
import { AgentdError, StoreUnavailable } from '../../../src/daemon/errors.ts';
import { measuredStore } from '../../../src/daemon/metrics/measured-store.ts';
import { METRICS } from '../../../src/daemon/metrics/metric-list.ts';
import { Metrics } from '../../../src/daemon/metrics/metrics.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import type { TraceLine, TraceRecord } from '../../../src/daemon/trace/trace-record.ts';

const IDLE = {
  agents: () => [],
  runs: () => ({ running: 0, waiting: 0 }),
  streams: () => ({ running: 0, read: 0 }),
  memoryIsAvailable: () => null,
  lastBackupAt: () => null,
};

let metrics: Metrics;
beforeEach(() => {
  metrics = new Metrics({ version: '1.2.3', commit: 'abc' });
});

/** The value of a sample in the text of the metrics, or undefined if there is no such sample. */
async function sample(name: string): Promise<number | undefined> {
  const line = (await metrics.text()).split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

function trace(outcome: string, lines: Omit<TraceLine, 'at'>[] = []): TraceRecord {
  return {
    turn_id: 't1',
    request_id: 'r1',
    session_id: 's1',
    message_id: null,
    platform: 'webchat',
    user_id: 'u1',
    started_at: 1000,
    finished_at: 1500,
    outcome,
    lines: lines.map((line) => ({ at: 1000, ...line })),
  };
}

describe('metrics', () => {
  it('have names that end in `_total` only if they are counters', async () => {
    const text = await metrics.text();
    expect(text.match(/^# TYPE \w+_total (?!counter$).*$/gm)).toBeNull();
    expect(text).toContain('# TYPE nodejs_active_resources gauge');
  });

  it('have the help texts of their records, and every metric of agentd has a record', async () => {
    const text = await metrics.text();
    const named = [...text.matchAll(/^# HELP (agentd_\w+) (.*)$/gm)].map(([, name, help]) => ({
      name,
      help,
    }));
    expect(named.sort((a, b) => String(a.name).localeCompare(String(b.name)))).toEqual(
      METRICS.map(({ name, sentence }) => ({ name, help: sentence })).sort((a, b) =>
        a.name.localeCompare(b.name),
      ),
    );
  });

  it.each([
    ['answered', [], 'answered'],
    ['answered', [{ step: 'run-agent', verdict: 'ok', reason: 'stopped' }], 'stopped'],
    ['replayed', [], 'replayed'],
    ['loop_guard_blocked', [], 'blocked'],
    ['session_forbidden', [], 'refused'],
    ['idempotency_key_reused', [], 'refused'],
    ['agent_failed', [], 'failed'],
    ['unavailable', [], 'failed'],
    ['internal_error', [], 'failed'],
  ] as const)('count a message whose trace ends in %s %j as %s', async (outcome, lines, counted) => {
    metrics.turnTraced(trace(outcome, [...lines]), false);
    expect(await sample(`agentd_messages_total{channel="webchat",outcome="${counted}"}`)).toBe(1);
  });

  it('do not count a message that will run again, but count its tool calls', async () => {
    const lines = [
      { step: 'tool', verdict: 'failed', reason: 'tool_failed', detail: { tool: 'get_user' } },
    ] as const;
    metrics.turnTraced(trace('agent_failed', [...lines]), true);
    expect(await metrics.text()).not.toContain('agentd_messages_total{');
    expect(await sample('agentd_tool_calls_total{tool="get_user",outcome="tool_failed"}')).toBe(1);
    metrics.turnTraced(trace('answered', [...lines]), false);
    expect(await sample('agentd_messages_total{channel="webchat",outcome="answered"}')).toBe(1);
    expect(await sample('agentd_tool_calls_total{tool="get_user",outcome="tool_failed"}')).toBe(2);
  });

  it('measure the time of turns and steps, but not of anything within a step', async () => {
    metrics.turnTraced(
      trace('answered', [
        { step: 'run-agent', verdict: 'ok', took_ms: 400 },
        { step: 'tool', verdict: 'ok', detail: { tool: 'get_user' }, took_ms: 100 },
      ]),
      false,
    );
    expect(await sample('agentd_turn_duration_seconds_sum{channel="webchat"}')).toBe(0.5);
    expect(await sample('agentd_step_duration_seconds_sum{step="run-agent"}')).toBe(0.4);
    expect(await metrics.text()).not.toContain('step="tool"');
  });

  it('distinguish steps of less than a millisecond from slower steps', async () => {
    const guard = (took_ms: number) => trace('answered', [{ step: 'guard', verdict: 'ok', took_ms }]);
    for (const took_ms of [0.4, 4, 9]) metrics.turnTraced(guard(took_ms), false);
    const buckets = await Promise.all(
      ['0.001', '0.005', '0.01'].map((le) =>
        sample(`agentd_step_duration_seconds_bucket{le="${le}",step="guard"}`),
      ),
    );
    expect(buckets).toEqual([1, 2, 3]);
  });

  it('distinguish store operations that timed out from slow operations', async () => {
    const ended = (seconds: number, error?: unknown) =>
      metrics.storeOperationEnded('commitTurn', seconds, error);
    for (const seconds of [3, 5.002]) ended(seconds);
    const count = (le: string) =>
      sample(`agentd_store_duration_seconds_bucket{le="${le}",operation="commitTurn"}`);
    expect([await count('2.5'), await count('5'), await count('+Inf')]).toEqual([0, 1, 2]);
  });

  it('count credentials, model calls, blocks by the guard, and deliveries', async () => {
    metrics.turnTraced(
      trace('answered', [
        { step: 'credentials', verdict: 'ok', detail: { credentials: 'user' } },
        { step: 'credentials', verdict: 'fallback', reason: 'no_token', detail: { credentials: 'default' } },
        // In the next three lines, a policy decides the credentials. The third call was refused, so it was not made.
        { step: 'credentials', verdict: 'ok', detail: { credentials: 'default' } },
        { step: 'credentials', verdict: 'ok', detail: { credentials: 'none' } },
        { step: 'credentials', verdict: 'refused', reason: 'no_jwt_context', detail: { policy: 'user' } },
        { step: 'model', verdict: 'ok', detail: { model: 'm1', input_tokens: 10, output_tokens: 3 } },
        { step: 'model', verdict: 'failed', reason: 'model_unreachable', detail: { model: 'm1' } },
        // This line is not a call: it says that the fallback model answers instead.
        { step: 'model', verdict: 'fallback', reason: 'model_unreachable', detail: { fallback: 'm2' } },
      ]),
      false,
    );
    metrics.turnTraced(
      trace('loop_guard_blocked', [{ step: 'guard', verdict: 'refused', reason: 'repetition' }]),
      false,
    );
    metrics.messageBlocked('teamchat', 'rate_limit');
    metrics.deliveryEnded('teamchat', 'retried');
    metrics.answerRated('teamchat', -1);
    expect(await sample('agentd_credentials_total{used="user",reason="valid_token"}')).toBe(1);
    expect(await sample('agentd_credentials_total{used="default",reason="no_token"}')).toBe(1);
    expect(await sample('agentd_credentials_total{used="default",reason="policy"}')).toBe(1);
    expect(await sample('agentd_credentials_total{used="none",reason="policy"}')).toBe(1);
    expect(await sample('agentd_credentials_total{used="none",reason="no_jwt_context"}')).toBe(1);
    expect(await sample('agentd_model_requests_total{model="m1",outcome="ok"}')).toBe(1);
    expect(await metrics.text()).not.toContain('undefined');
    expect(await sample('agentd_model_requests_total{model="m1",outcome="model_unreachable"}')).toBe(1);
    expect(await sample('agentd_model_tokens_total{model="m1",direction="input"}')).toBe(10);
    expect(await sample('agentd_model_tokens_total{model="m1",direction="output"}')).toBe(3);
    expect(await sample('agentd_guard_blocks_total{channel="webchat",reason="repetition"}')).toBe(1);
    expect(await sample('agentd_guard_blocks_total{channel="teamchat",reason="rate_limit"}')).toBe(1);
    expect(await sample('agentd_messages_total{channel="teamchat",outcome="blocked"}')).toBe(1);
    expect(await sample('agentd_deliveries_total{channel="teamchat",outcome="retried"}')).toBe(1);
    expect(await sample('agentd_feedback_total{channel="teamchat",rating="-1"}')).toBe(1);
  });

  it('name a route by its pattern, and any unknown method as `other`', async () => {
    const request = { route: '/sse/stream/:stream_id', method: 'GET', status: 200, code: null, seconds: 0.1 };
    metrics.requestEnded(request);
    metrics.requestEnded({ ...request, route: null, method: 'BREW', status: 404, code: 'not_found' });
    metrics.requestEnded({
      ...request,
      route: '/webchat/message',
      method: 'POST',
      status: 429,
      code: 'rate_limited',
    });
    const requests = 'agentd_http_requests_total';
    expect(await sample(`${requests}{route="/sse/stream/:stream_id",method="GET",status="200"}`)).toBe(1);
    expect(await sample(`${requests}{route="none",method="other",status="404"}`)).toBe(1);
    expect(await sample('agentd_rate_limited_total{route="/webchat/message"}')).toBe(1);
    expect(await metrics.text()).not.toContain('BREW');
  });

  it('read the gauges at each request, and drop states that have no messages', async () => {
    let inbox = [{ platform: 'teamchat', state: 'waiting', messages: 2, oldest_seconds: 7 }];
    let digest = 'before';
    metrics.readFrom({
      runs: () => ({ running: 3, waiting: 1 }),
      streams: () => ({ running: 2, read: 4 }),
      inbox: async () => inbox,
      agents: () => [{ name: 'default', digest }],
      memoryIsAvailable: () => false,
      lastBackupAt: () => 1_500,
    });
    expect(await sample('agentd_memory_available')).toBe(0);
    expect(await sample('agentd_last_backup_timestamp_seconds')).toBe(1.5);
    expect(await sample('agentd_runs{state="running"}')).toBe(3);
    expect(await sample('agentd_streams{state="read"}')).toBe(4);
    expect(await sample('agentd_inbox_messages{channel="teamchat",state="waiting"}')).toBe(2);
    expect(await sample('agentd_inbox_oldest_seconds{channel="teamchat"}')).toBe(7);
    expect(await sample('agentd_agent_info{agent="default",digest="before"}')).toBe(1);
    inbox = [];
    digest = 'after';
    expect(await metrics.text()).not.toContain('channel="teamchat"');
    expect(await metrics.text()).not.toContain('digest="before"');
    expect(await sample('agentd_agent_info{agent="default",digest="after"}')).toBe(1);
  });

  it('begin the series of a channel with 0, so that the first failure is an increase', async () => {
    metrics.addChannel('webchat', false);
    metrics.addChannel('teamchat', true);
    expect(await sample('agentd_messages_total{channel="webchat",outcome="failed"}')).toBe(0);
    expect(await sample('agentd_messages_total{channel="teamchat",outcome="stopped"}')).toBe(0);
    for (const outcome of ['sent', 'retried', 'failed'])
      expect(await sample(`agentd_deliveries_total{channel="teamchat",outcome="${outcome}"}`)).toBe(0);
    expect(await metrics.text()).not.toContain('agentd_deliveries_total{channel="webchat"');
    metrics.deliveryEnded('teamchat', 'failed');
    expect(await sample('agentd_deliveries_total{channel="teamchat",outcome="failed"}')).toBe(1);
  });

  it('report an empty inbox as 0', async () => {
    let inbox = [{ platform: 'teamchat', state: 'waiting', messages: 2, oldest_seconds: 7 }];
    metrics.addChannel('webchat', false);
    metrics.addChannel('teamchat', true);
    metrics.readFrom({ ...IDLE, inbox: async () => inbox });
    expect(await sample('agentd_inbox_messages{channel="teamchat",state="waiting"}')).toBe(2);
    expect(await sample('agentd_inbox_messages{channel="teamchat",state="failed"}')).toBe(0);
    inbox = [];
    expect(await sample('agentd_inbox_messages{channel="teamchat",state="waiting"}')).toBe(0);
    expect(await sample('agentd_inbox_oldest_seconds{channel="teamchat"}')).toBe(0);
    expect(await metrics.text()).not.toContain('agentd_inbox_messages{channel="webchat"');
  });

  it('leave out the gauges of the inbox while the store is unreachable', async () => {
    metrics.addChannel('teamchat', true);
    metrics.readFrom({
      ...IDLE,
      inbox: () => Promise.reject(new AgentdError('unavailable', 'away')),
    });
    expect(await sample('agentd_runs{state="running"}')).toBe(0);
    expect(await metrics.text()).not.toContain('agentd_inbox_messages{');
    expect(await metrics.text()).not.toMatch(/^agentd_(memory_available|last_backup_\w+) /m);
  });

  it('contain the version', async () => {
    const node = process.versions.node;
    expect(await sample(`agentd_build_info{version="1.2.3",commit="abc",node="${node}"}`)).toBe(1);
  });
});

describe('a measured store', () => {
  it('measures every port of the store except persons, reloads, replicas and maintenance', () => {
    const store = openMemoryStore(new MemoryState(), { clock: systemClock });
    const measured = measuredStore(store, metrics);
    const same = Object.entries(store).filter(([name, port]) => port === Reflect.get(measured, name));
    const names = same.filter(([, port]) => typeof port === 'object' && port !== null).map(([name]) => name);
    expect(names.sort()).toEqual(['persons', 'reloads']);
  });

  it('lists an operation only after it was called', async () => {
    const store = openMemoryStore(new MemoryState(), { clock: systemClock });
    const measured = measuredStore(store, metrics);
    expect(await metrics.text()).not.toContain('operation="');
    await measured.outages.list();
    expect(await sample('agentd_store_duration_seconds_count{operation="outages.list"}')).toBe(1);
  });

  it('times each operation and counts outages, but otherwise behaves like the store', async () => {
    class Sessions {
      #found = 'found';
      find = async () => this.#found;
      async claim() {
        throw new StoreUnavailable(new Error('ENOSPC'));
      }
    }
    const store = {
      description: 'test',
      sessions: new Sessions(),
      memories: { find: async () => null },
      commitTurn: async () => 'committed',
    } as unknown as Store;
    const measured = measuredStore(store, metrics);
    expect(measured.description).toBe('test');
    expect(await measured.sessions.find('s1')).toBe('found');
    expect(await measured.commitTurn({} as never, {} as never)).toBe('committed');
    await expect(measured.sessions.claim('s1')).rejects.toThrow(StoreUnavailable);
    await (measured.memories as unknown as Record<string, () => Promise<null>>).find?.();
    expect(measuredStore({ ...store, memories: null } as Store, metrics).memories).toBeNull();
    const count = 'agentd_store_duration_seconds_count';
    expect(await sample(`${count}{operation="sessions.find"}`)).toBe(1);
    expect(await sample(`${count}{operation="sessions.claim"}`)).toBe(1);
    expect(await sample(`${count}{operation="commitTurn"}`)).toBe(1);
    expect(await sample(`${count}{operation="memories.find"}`)).toBe(1);
    expect(await sample('agentd_store_errors_total')).toBe(1);
  });
});
