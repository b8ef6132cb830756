import { describe, expect, it } from 'vitest';
import type { ChannelRequest, Route } from '../../../src/channel/index.ts';
import { Arrivals, type Place } from '../../../src/daemon/http/arrivals.ts';

const route: Route = {
  method: 'POST',
  path: '/telex',
  thread: (request) => request.json().thread as string | null,
  handle: () => ({}),
};

const asking = (thread: unknown) => ({ json: () => ({ thread }) }) as unknown as ChannelRequest;

function placeIn(arrivals: Arrivals, thread: string): Place {
  const place = arrivals.takePlace(route, asking(thread));
  if (!place) throw new Error('no place was given');
  return place;
}

async function isReached(place: Place): Promise<boolean> {
  let reached = false;
  void place.reached.then(() => {
    reached = true;
  });
  await new Promise(setImmediate);
  return reached;
}

describe('arrivals', () => {
  it('are reached in order: the first at once, the next when it has left', async () => {
    const arrivals = new Arrivals();
    const [first, second] = [placeIn(arrivals, 'a'), placeIn(arrivals, 'a')];
    expect(await isReached(first)).toBe(true);
    expect(await isReached(second)).toBe(false);
    first.leave();
    expect(await isReached(second)).toBe(true);
  });

  it('do not let one that ends early give its place to the next before its time', async () => {
    const arrivals = new Arrivals();
    const [first, second, third] = [placeIn(arrivals, 'a'), placeIn(arrivals, 'a'), placeIn(arrivals, 'a')];
    second.leave();
    expect(await isReached(third)).toBe(false);
    first.leave();
    expect(await isReached(third)).toBe(true);
  });

  it('of other threads do not wait, and nothing is kept of a thread that all have left', async () => {
    const arrivals = new Arrivals();
    const [first, other] = [placeIn(arrivals, 'a'), placeIn(arrivals, 'b')];
    expect(await isReached(other)).toBe(true);
    expect(arrivals.size).toBe(2);
    first.leave();
    first.leave();
    other.leave();
    await new Promise(setImmediate);
    expect(arrivals.size).toBe(0);
  });

  it('have a place only where the request names a thread', () => {
    const arrivals = new Arrivals();
    const broken = {
      json() {
        throw new Error('no JSON');
      },
    } as unknown as ChannelRequest;
    expect(arrivals.takePlace(route, asking(null))).toBeUndefined();
    expect(arrivals.takePlace(route, broken)).toBeUndefined();
    expect(arrivals.takePlace(route, asking('a'))).toBeDefined();
  });
});
