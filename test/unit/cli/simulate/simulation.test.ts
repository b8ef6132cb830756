import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChannelPlugin, PlatformSimulator, SimulatedEvent } from '../../../../src/channel/index.ts';
import type { DaemonRecords, MessageEnd } from '../../../../src/cli/simulate/scenario.ts';
import { Simulation } from '../../../../src/cli/simulate/simulation.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';

let server: Server;
let daemon: URL;
beforeEach(async () => {
  server = createServer((_request, response) => response.setHeader('X-Request-Id', 'r1').end());
  daemon = new URL(`http://127.0.0.1:${await listenOnFreePort(server)}/`);
});
afterEach(() => server.close());

const event = (kind: SimulatedEvent['kind']): SimulatedEvent => ({
  kind,
  user: 'ada',
  text: '/link token',
  place: 'direct',
  number: 1,
  sent_at: 0,
});
const text = (words: string) => ({ what: 'message', to: 'ada', text: words }) as const;

/** Events that were delivered. */
let delivered: SimulatedEvent[];
beforeEach(() => {
  delivered = [];
});

function simulationWith(records: Partial<DaemonRecords>, press: 'yes' | 'no' | null = null): Simulation {
  const simulator: Partial<PlatformSimulator> = {
    delivery: (sent) => {
      delivered.push(sent);
      return { method: 'POST', path: '/', headers: {}, body: '' };
    },
    seenIn: ({ user }) => [user],
  };
  return new Simulation({
    scenario: {
      plugin: { name: 'owl', capabilities: { webhook: true } } as Partial<ChannelPlugin> as ChannelPlugin,
      simulator: simulator as PlatformSimulator,
      settings: {},
      location: { env: {}, cwd: '/' },
    },
    daemon,
    records: {
      findEnd: async () => null,
      hasOpenText: async () => false,
      close: async () => undefined,
      ...records,
    },
    areItsRecords: true,
    press,
    slow_ms: 0,
    hasApi: true,
    report: () => undefined,
  });
}

const never = new AbortController().signal;

describe('a simulation that presses a button', () => {
  const buttons = [
    { label: 'Confirm', press: 'agentd:yes:id' },
    { label: 'Cancel', press: 'agentd:no:id' },
  ];

  it.each([
    ['yes', 'agentd:yes:id'],
    ['no', 'agentd:no:id'],
  ] as const)(
    'presses %s once as the person who was asked, and waits for the answer',
    async (press, payload) => {
      const answered = { findEnd: async () => ({ end: 'answered' }) as MessageEnd };
      const simulation = simulationWith(answered, press);
      await simulation.send([[event('message')]]);
      simulation.show({ ...text('Please confirm'), buttons });
      simulation.show({ ...text('Please confirm'), buttons });
      await simulation.untilSettled(5000, never);
      expect(delivered.map(({ kind, user, text: sent }) => [kind, user, sent])).toEqual([
        ['message', 'ada', '/link token'],
        ['press', 'ada', payload],
      ]);
      expect(simulation.summary()).toMatchObject({ messages: 2, answered: 2 });
    },
  );

  it('presses no button without --press or in other conversations', async () => {
    const simulation = simulationWith({}, null);
    await simulation.send([[event('message')]]);
    simulation.show({ ...text('Please confirm'), buttons });
    const other = simulationWith({}, 'yes');
    other.show({ what: 'message', to: 'bob', text: 'Please confirm', buttons });
    await new Promise(setImmediate);
    expect(delivered.map(({ kind }) => kind)).toEqual(['message']);
  });
});

describe('a simulation that reads the records of the daemon', () => {
  it('waits for a text that the daemon has not sent yet', async () => {
    const asked: [string, boolean][] = [];
    const simulation = simulationWith({
      async hasOpenText(platform, since) {
        asked.push([platform, since <= Date.now()]);
        if (asked.length === 3) simulation.show(text('You are Ada from now on.'));
        return asked.length < 3;
      },
    });
    await simulation.send([[event('command')]]);
    simulation.show(text('One moment.'));
    await simulation.untilSettled(10_000, never);
    expect(asked.length).toBeGreaterThan(2);
    expect(new Set(asked.map(String))).toEqual(new Set(['owl,true']));
    expect(simulation.summary()).toMatchObject({ messages: 1, answered: 1, unanswered: 0 });
  });

  it('reads from the records how a message ended, whatever text was sent', async () => {
    const ends: MessageEnd[] = [
      { end: 'open', reason: null },
      { end: 'open', reason: 'delivery_failed' },
      { end: 'failed', reason: 'delivery_refused' },
    ];
    const simulation = simulationWith({
      async findEnd(request_id) {
        expect(request_id).toBe('r1');
        return ends.shift() ?? null;
      },
    });
    await simulation.send([[event('message')]]);
    simulation.show(text('Notice: no answer was possible.'));
    await simulation.untilSettled(10_000, never);
    expect(ends).toEqual([]);
    expect(simulation.summary()).toMatchObject({ failed: 1, answered: 0, reasons: ['delivery_refused'] });
  });

  it('ends at once if every delivery was refused', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => response.writeHead(401).end());
    const simulation = simulationWith({});
    await simulation.send([[{ ...event('message'), bad_signature: true }]]);
    await simulation.untilSettled(10_000, never);
    expect(simulation.isExpected).toBe(true);
    expect(simulation.summary().messages).toBe(0);
  });
});
