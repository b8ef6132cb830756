import { describe, expect, it } from 'vitest';
import type { ChannelRequest, Route } from '../../../../src/channel/index.ts';
import { RequestSequencer } from '../../../../src/daemon/message/waits/request-sequencer.ts';
import type { Ticket } from '../../../../src/daemon/time/tickets.ts';

const route: Route = {
  method: 'POST',
  path: '/telex',
  thread: (request) => request.json().thread as string | null,
  handle: () => ({}),
};

const asking = (thread: unknown) => ({ json: () => ({ thread }) }) as unknown as ChannelRequest;

function ticketFor(sequencer: RequestSequencer, thread: string): Ticket {
  const ticket = sequencer.issueTicket(route, asking(thread));
  if (!ticket) throw new Error('no ticket was given');
  return ticket;
}

async function isReached(ticket: Ticket): Promise<boolean> {
  if (ticket.reached === null) return true;
  let reached = false;
  void ticket.reached.then(() => {
    reached = true;
  });
  await new Promise(setImmediate);
  return reached;
}

describe('the tickets of requests', () => {
  it('are reached in order: the first at once, and each other ticket when the previous ticket has left', async () => {
    const sequencer = new RequestSequencer();
    const [first, second] = [ticketFor(sequencer, 'a'), ticketFor(sequencer, 'a')];
    expect(await isReached(first)).toBe(true);
    expect(await isReached(second)).toBe(false);
    first.leave();
    expect(await isReached(second)).toBe(true);
  });

  it('are not reached too early if an earlier ticket leaves before it is reached', async () => {
    const sequencer = new RequestSequencer();
    const [first, second, third] = [
      ticketFor(sequencer, 'a'),
      ticketFor(sequencer, 'a'),
      ticketFor(sequencer, 'a'),
    ];
    second.leave();
    expect(await isReached(third)).toBe(false);
    first.leave();
    expect(await isReached(third)).toBe(true);
  });

  it('of different threads are independent, and a thread without tickets uses no memory', async () => {
    const sequencer = new RequestSequencer();
    const [first, other] = [ticketFor(sequencer, 'a'), ticketFor(sequencer, 'b')];
    expect(await isReached(other)).toBe(true);
    expect(sequencer.size).toBe(2);
    first.leave();
    first.leave();
    other.leave();
    await new Promise(setImmediate);
    expect(sequencer.size).toBe(0);
  });

  it('are given only to requests that name a thread', () => {
    const sequencer = new RequestSequencer();
    const broken = {
      json() {
        throw new Error('no JSON');
      },
    } as unknown as ChannelRequest;
    expect(sequencer.issueTicket(route, asking(null))).toBeNull();
    expect(sequencer.issueTicket(route, broken)).toBeNull();
    expect(sequencer.issueTicket(route, asking('a'))).not.toBeNull();
  });
});
