import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createOutput } from '../../../src/cli/output.ts';
import { PAINTED } from '../../../src/cli/styled-text.ts';
import { showLive } from '../../../src/cli/top/live-screen.ts';
import { type TopSources, takeSnapshot, WINDOW_MS } from '../../../src/cli/top/snapshot.ts';
import { topLines } from '../../../src/cli/views/top-view.ts';
import type { TraceRecord } from '../../../src/daemon/trace/trace-record.ts';
import { aTrace } from '../../contract/fixtures.ts';
import { capture } from './captured-output.ts';

const NOW = Date.UTC(2030, 0, 1);

const nothing: TopSources = {
  ...{ now: NOW, inbox: [], streams: [], outages: [], traces: [] },
  ...{ guard: { circuits: [], sessions: [] }, health: null, load: null },
};
const ended = (outcome: string, ms: number, members: Partial<TraceRecord> = {}) =>
  aTrace(null, {
    outcome,
    platform: 'chat',
    started_at: NOW - 60_000 - ms,
    finished_at: NOW - 60_000,
    ...members,
  });

describe('the screen of `agentd top`', () => {
  const detail = 'the last 7 calls to the platform failed: the platform could not be reached: \u{1b}[2J';
  const snapshot = takeSnapshot({
    ...nothing,
    health: { status: 'degraded', platforms: ['chat'], adapters: { chat: { status: 'degraded', detail } } },
  });
  const lines = (columns: number, env: NodeJS.ProcessEnv) => {
    const stdout = capture({ columns });
    const out = createOutput({ json: false, stdout, stderr: capture(), env });
    out.data({}, () => topLines(snapshot, out).join('\n'));
    return stdout.text.trimEnd().split('\n');
  };

  it('has the heading of its table in bold, and no other sequence of the terminal', () => {
    const [colored, plain] = [lines(80, {}), lines(80, { NO_COLOR: '1' })];
    expect(colored[3]).toMatch(/^\u{1b}\[1mCHANNEL\u{1b}\[22m +\u{1b}\[1mSTATE\u{1b}\[22m/u);
    expect(colored.map((line) => line.replace(PAINTED, ''))).toEqual(plain);
    expect(plain.join()).not.toContain('\u{1b}');
  });

  it('fits the terminal, and shows the whole reason of a trouble', () => {
    for (const columns of [40, 60, 80]) {
      const shown = lines(columns, { NO_COLOR: '1' });
      expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(columns);
      expect(shown.join(' ').replace(/ +/g, ' ')).toContain(detail.replace('\u{1b}', '\u{fffd}'));
    }
  });
});

describe('the snapshot of `agentd top`', () => {
  it('counts what runs, waits and fails, for each channel', () => {
    const counted = (state: 'waiting' | 'running' | 'replied' | 'failed', messages: number, age: number) => {
      return { platform: 'chat', state, messages, oldest_at: NOW - age * 1000 };
    };
    const { channels, daemon } = takeSnapshot({
      ...nothing,
      inbox: [
        counted('waiting', 3, 40),
        counted('running', 1, 2),
        counted('replied', 2, 7),
        counted('failed', 5, 900),
      ],
      streams: [
        { platform: 'sse', state: 'running', streams: 4 },
        { platform: 'sse', state: 'waiting', streams: 1 },
      ],
      health: {
        status: 'ok',
        platforms: ['chat', 'sse', 'webchat'],
        adapters: { chat: { status: 'degraded', detail: 'The token is refused.' }, sse: { status: 'ok' } },
      },
      load: {
        running: new Map([
          ['webchat', 2],
          ['sse', 1],
        ]),
        runs: 6,
        waiting: 0,
      },
    });
    expect(daemon).toBe('ok');
    expect(channels).toMatchObject([
      {
        ...{ channel: 'chat', state: 'degraded', detail: 'The token is refused.' },
        ...{ running: 1, waiting: 3, unsent: 2, failed: 5, oldest_seconds: 40 },
      },
      { channel: 'sse', state: 'ok', running: 4, waiting: 1, oldest_seconds: null },
      { channel: 'webchat', running: 2, waiting: 0 },
    ]);
  });

  it('counts how the messages of the last five minutes ended, and shows the newest failures', () => {
    const line = { at: NOW, step: 'send-reply', verdict: 'failed' as const };
    const { channels, failures } = takeSnapshot({
      ...nothing,
      traces: [
        ended('agent_failed', 10, { finished_at: NOW - WINDOW_MS }),
        ...[100, 200, 4000].map((ms) => ended('answered', ms)),
        ended('agent_failed', 10, { request_id: 'first' }),
        ended('session_forbidden', 1),
        ended('loop_guard_blocked', 1),
        ended('replayed', 1),
        ended('summarized', 1),
        ended('delivery_failed', 1, { lines: [line] }),
        ended('agent_timeout', 10, { request_id: 'last' }),
      ],
    });
    expect(channels).toMatchObject([
      { channel: 'chat', state: null, recent: { answered: 3, failed: 2, refused: 2 }, p95_ms: 4000 },
    ]);
    expect(failures.map(({ outcome, request_id }) => [outcome, request_id])).toEqual([
      ['agent_timeout', 'last'],
      ['agent_failed', 'first'],
    ]);
  });

  it('shows an outage of a platform as the state of its channel', () => {
    const outage = {
      reason: 'unreachable' as const,
      words: 'ECONNREFUSED',
      since: NOW,
      probes: 1,
      probe_at: NOW,
    };
    const { channels } = takeSnapshot({ ...nothing, outages: [{ platform: 'chat', ...outage }] });
    expect(channels).toMatchObject([{ state: 'away', detail: 'unreachable: ECONNREFUSED' }]);
  });
});

describe('the live screen', () => {
  it.each(['q', '\u{3}'])(
    'is drawn again and again until %j is pressed, and then leaves no trace',
    async (key) => {
      const stdin = Object.assign(new PassThrough(), {
        modes: [] as boolean[],
        setRawMode: (raw: boolean) => stdin.modes.push(raw),
      });
      const stdout = Object.assign(capture({ columns: 80 }), { rows: 3 });
      let drawings = 0;
      const draw = async () => {
        if (++drawings === 3) stdin.write(key);
        return [`drawing ${drawings}`, 'second', 'third'];
      };
      await showLive({ stdin, stdout }, draw, 1);
      expect(drawings).toBeGreaterThanOrEqual(3);
      expect(stdin.modes).toEqual([true, false]);
      expect(stdout.text).toContain('drawing 2\u{1b}[K\r\nsecond');
      expect(stdout.text).not.toContain('third');
      expect(stdout.text.startsWith('\u{1b}[?1049h')).toBe(true);
      expect(stdout.text.endsWith('\u{1b}[?1049l')).toBe(true);
    },
  );

  it('leaves the terminal as it was if drawing fails', async () => {
    const stdin = new PassThrough();
    const stdout = capture({ columns: 80 });
    await expect(showLive({ stdin, stdout }, () => Promise.reject(new Error('no')), 1)).rejects.toThrow('no');
    expect(stdout.text.endsWith('\u{1b}[?1049l')).toBe(true);
  });
});
