import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/channel/index.ts';
import type { PersonKey } from '../../src/daemon/identity/identity.ts';
import { clientTag } from '../../src/daemon/session/session.ts';
import { ANONYMOUS_ANSWER_MS } from '../../src/daemon/store/idempotency.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { aSession, aStream, aTrace, aTurn } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { WANTED } from './store-contract.ts';
import { commitUnderClaim } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;
const ADA = '["","","ada"]' as PersonKey;

/** Answers, streams and traces of anonymous clients, for backends that bound them (ANONYMOUS_STORE_BYTES). */
export function describeAnonymous(current: () => StoreUnderTest): void {
  describe('what anonymous clients have stored', () => {
    /** A text of which the bound has room for 50. */
    const text = 'x'.repeat(WANTED.anonymousMax / 50);
    const room = 50;
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(({ skip }) => {
      test = current();
      store = test.store;
      skip(!test.boundsAnonymous, 'this backend does not bound what anonymous clients store');
    });

    const keyOf = (address: string, name: string) => JSON.stringify(['web', ['client', address, 'u1'], name]);
    const isKnown = async (key: string) => (await store.idempotency.look(key, 'body')).outcome === 'done';

    /** Answers a message under an Idempotency-Key, in a session of its own. Only the answer is long. */
    async function answerUnder(key: string, client: string | undefined): Promise<void> {
      const session = aSession(test.now(), {
        session_id: `s-${key}`,
        ...(client === undefined ? {} : { client }),
      });
      const claimed = await store.idempotency.claim(key, 'body');
      if (claimed.outcome !== 'new') throw new Error('the key is known');
      const answer = { session_id: session.session_id, response: text };
      await commitUnderClaim(store, session.session_id, {
        session,
        turn: { record: aTurn({ text: '', reply: '' }), ttl_ms: HOUR },
        trace: aTrace(session, { lines: [] }),
        answer: { claim: claimed.claim, answer, ttl_ms: ANONYMOUS_ANSWER_MS },
      });
      test.advance(1);
    }

    async function stream(address: string, owner: PersonKey | null = null): Promise<string> {
      const made = aStream({ owner });
      made.start.address = address;
      await store.streams.create(made);
      const claim = await store.streams.claim(made.stream_id, { owner, reader: null });
      if (claim === null) throw new Error('the stream was already claimed');
      const events: StreamEvent[] = [{ id: 1, event: 'stream_complete', data: JSON.stringify({ text }) }];
      await store.streams.append(claim, events);
      test.advance(1);
      return made.stream_id;
    }

    const left = async <T>(all: readonly T[], isThere: (one: T) => Promise<boolean>) => {
      const there = await Promise.all(all.map(isThere));
      return all.filter((_, place) => there[place]);
    };

    it('includes the answers of 400 requests with a key, of which the oldest are deleted first', async () => {
      const keys = Array.from({ length: 400 }, (_, n) => keyOf('192.0.2.1', `k${n}`));
      for (const key of keys) await answerUnder(key, clientTag('192.0.2.1'));
      const kept = await left(keys, isKnown);
      expect(kept.length).toBeLessThan(room);
      expect(kept.length).toBeGreaterThan(room / 2);
      expect(kept).toEqual(keys.slice(-kept.length));
    });

    it('is deleted for the address that holds most, and never for persons', async () => {
      const few = Array.from({ length: 5 }, (_, n) => keyOf('192.0.2.1', `few${n}`));
      const persons = Array.from({ length: 60 }, (_, n) =>
        JSON.stringify(['web', ['person', ADA], `person${n}`]),
      );
      const many = Array.from({ length: 80 }, (_, n) => keyOf('192.0.2.2', `many${n}`));
      for (const key of few) await answerUnder(key, clientTag('192.0.2.1'));
      for (const key of persons) await answerUnder(key, undefined);
      for (const key of many) await answerUnder(key, clientTag('192.0.2.2'));
      expect(await left(few, isKnown)).toEqual(few);
      expect(await left(persons, isKnown)).toEqual(persons);
      expect((await left(many, isKnown)).length).toBeLessThan(room);
    });

    it('includes streams with their events, but not those of a person', async () => {
      const find = async (id: string) => (await store.streams.find(id)) !== null;
      const anonymous: string[] = [];
      const persons: string[] = [];
      for (let n = 0; n < 60; n++) anonymous.push(await stream('192.0.2.1'));
      for (let n = 0; n < 60; n++) persons.push(await stream('192.0.2.1', ADA));
      const kept = await left(anonymous, find);
      expect(kept.length).toBeLessThan(room);
      expect(kept.length).toBeGreaterThan(room / 2);
      expect(kept).toEqual(anonymous.slice(-kept.length));
      expect(await left(persons, find)).toEqual(persons);
    });

    it('includes streams that are never opened', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 60; n++) {
        const made = aStream();
        made.start.message.text = text;
        await store.streams.create(made);
        ids.push(made.stream_id);
        test.advance(1);
      }
      const kept = await left(ids, async (id) => (await store.streams.find(id)) !== null);
      expect(kept.length).toBeLessThan(room);
      expect(kept).toEqual(ids.slice(-kept.length));
    });

    it('includes traces of refused requests', async () => {
      const traces = Array.from({ length: 60 }, () => aTrace(null, { outcome: text }));
      for (const trace of traces) {
        await store.traces.keepRefused(trace, clientTag('192.0.2.1'));
        test.advance(1);
      }
      const kept = await left(traces, async ({ turn_id }) => (await store.traces.find(turn_id)).length > 0);
      expect(kept.length).toBeLessThan(room);
      expect(kept).toEqual(traces.slice(-kept.length));
    });

    it('frees its space when it expires, and is counted again after a restart', async () => {
      const keys = (name: string) => Array.from({ length: 30 }, (_, n) => keyOf('192.0.2.1', `${name}${n}`));
      const [first, second, third] = [keys('first'), keys('second'), keys('third')];
      for (const key of first) await answerUnder(key, clientTag('192.0.2.1'));
      test.advance(ANONYMOUS_ANSWER_MS);
      while (((await store.maintenance?.sweep()) ?? 0) > 0);
      for (const key of second) await answerUnder(key, clientTag('192.0.2.1'));
      expect(await left(second, isKnown)).toEqual(second);
      store = await test.restart();
      for (const key of third) await answerUnder(key, clientTag('192.0.2.1'));
      const kept = await left([...second, ...third], isKnown);
      expect(kept.length).toBeLessThan(room);
      expect(kept.length).toBeGreaterThan(room / 2);
    });
  });
}
