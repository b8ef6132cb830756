import { describe, expect, it } from 'vitest';
import { type Ticket, Tickets } from '../../../src/daemon/time/tickets.ts';

async function isReached(ticket: Ticket): Promise<boolean> {
  if (ticket.reached === null) return true;
  let reached = false;
  void ticket.reached.then(() => {
    reached = true;
  });
  await new Promise(setImmediate);
  return reached;
}

describe('tickets', () => {
  it('are reached in order: the first at once, and each other ticket when the previous ticket has left', async () => {
    const tickets = new Tickets();
    const [first, second] = [tickets.take('a'), tickets.take('a')];
    expect(await isReached(first)).toBe(true);
    expect(await isReached(second)).toBe(false);
    first.leave();
    expect(await isReached(second)).toBe(true);
  });

  it('are not reached too early if an earlier ticket leaves before it is reached', async () => {
    const tickets = new Tickets();
    const [first, second, third] = [tickets.take('a'), tickets.take('a'), tickets.take('a')];
    second.leave();
    expect(await isReached(third)).toBe(false);
    first.leave();
    expect(await isReached(third)).toBe(true);
  });

  it('of different names are independent, and a name without tickets uses no memory', async () => {
    const tickets = new Tickets();
    const [first, other] = [tickets.take('a'), tickets.take('b')];
    expect(await isReached(other)).toBe(true);
    expect(tickets.size).toBe(2);
    first.leave();
    first.leave();
    other.leave();
    await new Promise(setImmediate);
    expect(tickets.size).toBe(0);
  });
});
