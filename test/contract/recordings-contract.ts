import { beforeEach, describe, expect, it } from 'vitest';
import { SEALED } from '../../src/daemon/identity/seal.ts';
import { sessionTag } from '../../src/daemon/session/session.ts';
import type { RecordingStore } from '../../src/daemon/store/recordings.ts';
import { ada, aRecording, aSession, aTurn, bob } from './fixtures.ts';
import { type StoreUnderTest, WANTED } from './store-contract.ts';
import { keepTurn, saveSession, sweepAll } from './store-writes.ts';

const HOUR = 3_600_000;
/** How long a recording is kept if nobody marks it. */
const UNMARKED_MS = 24 * HOUR;
const USERS = { platform: 'chat', user_id: 'ua' };

/** The contract of the port `recordings`. */
export function describeRecordings(current: () => StoreUnderTest): void {
  describe('recordings', () => {
    let test: StoreUnderTest;
    let recordings: RecordingStore;

    beforeEach(() => {
      test = current();
      recordings = test.store.recordings;
    });

    const isKept = async (turn_id: string) => (await recordings.find(turn_id)) !== null;

    it('are found by turn, request or message, with or without the channel name; the newest replaces', async () => {
      const one = aRecording({ turn_id: 't', request_id: 'r', message_id: 'C1:17.5', content: 'one' });
      expect(await recordings.keep(one)).toBe('kept');
      for (const id of ['t', 'r', 'C1:17.5', 'chat:C1:17.5'])
        expect(await recordings.find(id), id).toEqual({ ...one, recorded_at: test.now() });
      for (const id of ['', 'sms:C1:17.5', '17.5', one.session_id])
        expect(await recordings.find(id), id).toBeNull();
      await recordings.keep({ ...one, content: 'two' });
      expect((await recordings.find('r'))?.content).toBe('two');
      await recordings.keep(aRecording({ request_id: 'r', content: 'three' }));
      expect((await recordings.find('r'))?.content).toBe('three');
      expect((await (await test.beside()).recordings.find('t'))?.content).toBe('two');
    });

    it('are resealed only if their content has not changed, and are counted by the key that sealed them', async () => {
      const [one, two] = ['keykey_1', 'keykey_2'].map((key) => `${SEALED}${key}.`) as [string, string];
      const recording = aRecording({ turn_id: 't', provisional: true, content: `${one}x` });
      await recordings.keep(recording);
      const unlike = async (mark: string) => {
        const found: string[] = [];
        for await (const turn_id of recordings.sealedUnlike(mark)) found.push(turn_id);
        return found;
      };
      expect(await unlike(one)).toEqual([]);
      expect(await unlike(two)).toEqual(['t']);
      expect(await test.store.countSeals()).toEqual(new Map([[one, { texts: 1, tokens: 0 }]]));
      expect(await recordings.reseal('t', `${one}y`, `${two}y`)).toBe(false);
      expect(await recordings.reseal('t', `${one}x`, `${two}x`)).toBe(true);
      expect(await recordings.reseal('t', `${one}x`, `${two}late`)).toBe(false);
      expect(await recordings.reseal('unknown', '', `${two}x`)).toBe(false);
      expect(await unlike(two)).toEqual([]);
      expect(await recordings.mark('t')).toBe(true);
      expect(await recordings.find('t')).toEqual({
        ...{ ...recording, provisional: false, content: `${two}x`, recorded_at: test.now() },
      });
      expect(await test.store.countSeals()).toEqual(new Map([[two, { texts: 1, tokens: 0 }]]));
    });

    it('are kept for the retention, and provisional ones for a day unless they are marked', async () => {
      await recordings.keep(aRecording({ turn_id: 'kept' }));
      for (const turn_id of ['marked', 'unmarked'])
        await recordings.keep(aRecording({ turn_id, provisional: true }));
      expect(await recordings.mark('early')).toBe(false);
      await recordings.keep(aRecording({ turn_id: 'early', provisional: true }));
      test.advance(UNMARKED_MS - 1);
      expect(await recordings.mark('marked')).toBe(true);
      expect(await isKept('unmarked')).toBe(true);
      test.advance(1);
      await sweepAll(test.store);
      expect(await isKept('unmarked')).toBe(false);
      for (const turn_id of ['kept', 'marked', 'early']) expect(await isKept(turn_id), turn_id).toBe(true);
      test.advance(WANTED.traceRetentionMs - UNMARKED_MS);
      await sweepAll(test.store);
      for (const turn_id of ['kept', 'marked', 'early']) expect(await isKept(turn_id), turn_id).toBe(false);
    });

    it('have RECORDINGS_MAX_BYTES together: beyond that, the oldest are deleted', async () => {
      const content = 'x'.repeat(9_000);
      const turns = Array.from({ length: 8 }, (_, count) => `t${count}`);
      const kept: string[][] = [];
      for (const [count, turn_id] of turns.entries()) {
        const recording = aRecording({ turn_id, content, provisional: turn_id === 't2' });
        expect(await recordings.keep(recording)).toBe('kept');
        // An old recording that is marked late stays old.
        if (turn_id === 't5') expect(await recordings.mark('t2')).toBe(true);
        const found = await Promise.all(turns.map(isKept));
        kept.push(turns.filter((_, index) => found[index]));
        // The first two are stored in the same hour, but only the first of them has to make room.
        if (count > 0) test.advance(HOUR);
      }
      expect(kept.slice(4)).toEqual([
        ['t1', 't2', 't3', 't4'],
        ['t2', 't3', 't4', 't5'],
        ['t3', 't4', 't5', 't6'],
        ['t4', 't5', 't6', 't7'],
      ]);
      const large = aRecording({ content: 'x'.repeat(WANTED.recordingsMaxBytes) });
      expect(await recordings.keep(large)).toBe('too_large');
      expect(await isKept('t7')).toBe(true);
    });

    it('do not count once they have expired, are erased, or were replaced', async () => {
      const content = 'x'.repeat(9_000);
      for (const turn_id of ['a', 'b', 'c'])
        await recordings.keep(aRecording({ turn_id, content, provisional: true }));
      test.advance(UNMARKED_MS + 2 * HOUR);
      await recordings.keep(aRecording({ turn_id: 'd', content }));
      for (let count = 0; count < 4; count++) await recordings.keep(aRecording({ turn_id: 'e', content }));
      await recordings.keep(aRecording({ turn_id: 'f', content, persons: [ada] }));
      await test.store.persons?.erase({ person: ada, link_keys: [] });
      await recordings.keep(aRecording({ turn_id: 'g', content }));
      if (test.store.persons) await recordings.keep(aRecording({ turn_id: 'h', content }));
      for (const turn_id of ['d', 'e', 'g']) expect(await isKept(turn_id), turn_id).toBe(true);
    });

    it("are erased with every person whose words they have, and others' are not", async () => {
      const { persons } = test.store;
      if (persons === null) return;
      const thread = aSession(test.now(), { session_id: 'thread' });
      await saveSession(test.store, thread);
      await keepTurn(test.store, thread, { turn_id: 'of ada', user_id: 'ua', person: ada });
      await keepTurn(test.store, thread, { turn_id: 'of bob', user_id: 'ub', person: bob });
      const inThread = { session_id: 'thread', users: ['ub'], persons: [bob] };
      await recordings.keep(aRecording({ ...inThread, turn_id: 'later', turns: ['later', 'of ada'] }));
      await recordings.keep(aRecording({ turn_id: 'with her', users: ['ub', 'ua'], persons: [bob] }));
      await recordings.keep(aRecording({ turn_id: 'as her', users: ['web'], persons: [bob, ada] }));
      await recordings.keep(aRecording({ ...inThread, turn_id: 'his' }));
      await recordings.keep(aRecording({ turn_id: 'elsewhere', platform: 'sms', users: ['ua'] }));
      const ofOneRequest = { request_id: 'r' };
      await recordings.keep(aRecording({ ...ofOneRequest, turn_id: 'her try', users: ['ua'] }));
      await recordings.keep(aRecording({ ...ofOneRequest, turn_id: 'his try', users: ['ub'] }));
      expect((await persons.show(USERS)).others.recordings).toBe(3);
      await persons.erase(USERS);
      expect((await recordings.find('r'))?.turn_id).toBe('his try');
      for (const turn_id of ['later', 'with her', 'her try'])
        expect(await isKept(turn_id), turn_id).toBe(false);
      await persons.erase({ person: ada, link_keys: [] });
      expect(await isKept('as her')).toBe(false);
      for (const turn_id of ['his', 'elsewhere']) expect(await isKept(turn_id), turn_id).toBe(true);
    });

    it('are not stored if some of their words were erased during the run', async () => {
      const { persons } = test.store;
      if (persons === null) return;
      const thread = aSession(test.now(), { session_id: 'thread', user_id: 'ub' });
      const alone = aSession(test.now(), { session_id: 'alone', user_id: 'ua' });
      for (const session of [thread, alone]) await saveSession(test.store, session);
      await keepTurn(test.store, thread, aTurn({ turn_id: 'of ada', user_id: 'ua' }));
      await keepTurn(test.store, thread, aTurn({ turn_id: 'of bob', user_id: 'ub' }));
      await persons.erase(USERS);
      const his = { session_id: 'thread', users: ['ub'] };
      expect(await recordings.keep(aRecording({ ...his, turns: ['new', 'of ada'] }))).toBe('erased');
      expect(await recordings.keep(aRecording({ ...his, turns: ['new', 'of bob'] }))).toBe('kept');
      expect(await recordings.keep(aRecording({ session_id: 'alone', users: ['ua'] }))).toBe('erased');
      // The session had another id when the run began.
      const former = { session_id: 'former', session_tag: sessionTag(alone), users: ['ua'] };
      expect(await recordings.keep(aRecording(former))).toBe('erased');
    });
  });
}
