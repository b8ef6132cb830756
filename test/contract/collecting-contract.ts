import { beforeEach, describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../src/channel/index.ts';
import { CLAIM_MS } from '../../src/daemon/store/claims/claims.ts';
import type { InboxClaim, InboxStore, NewInboxMessage } from '../../src/daemon/store/inbox/inbox.ts';
import { anInboxMessage } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { storeReply } from './store-writes.ts';

const COLLECTS = { wait_ms: 1000, max_ms: 3000 };
const SESSION = 'chat:one';
const STATES = ['waiting', 'running', 'replied', 'done', 'failed'] as const;

/** The contract of collected turns, a part of the port `inbox`. */
export function describeCollecting(current: () => StoreUnderTest): void {
  describe('collected turns', () => {
    let test: StoreUnderTest;
    let inbox: InboxStore;

    beforeEach(() => {
      test = current();
      inbox = test.store.inbox;
    });

    /** Stores a message of the session. Its platform's id is its text. */
    async function arriveAlone(
      text: string,
      own: Partial<NewInboxMessage> & { sender?: Partial<IncomingMessage> } = {},
    ): Promise<NewInboxMessage> {
      const { sender = {}, ...members } = own;
      const message = anInboxMessage({ text, session_id: SESSION, message_id: text, ...members });
      if (message.message) message.message = { ...message.message, ...sender };
      expect(await inbox.enqueue([message])).toEqual(['kept']);
      return message;
    }
    const arrive = (text: string, own: Parameters<typeof arriveAlone>[1] = {}) =>
      arriveAlone(text, { collects: COLLECTS, ...own });
    const claim = async (): Promise<InboxClaim | null> => (await inbox.claim('run', ['chat'], 1))[0] ?? null;
    /** Begins the next turn. @returns the texts of its messages; null if none is due. */
    async function begin(): Promise<{ claim: InboxClaim; texts: string[] } | null> {
      const claimed = await claim();
      if (claimed === null) return null;
      const further = await inbox.collect(claimed);
      return { claim: claimed, texts: [claimed.message, ...(further ?? [])].map(textOf) };
    }
    async function end({ claim: held }: { claim: InboxClaim }): Promise<void> {
      expect(await inbox.settle(held, { kind: 'sent' })).toBe(true);
    }
    async function turns(): Promise<string[][]> {
      const found: string[][] = [];
      for (let turn = await begin(); turn !== null; turn = await begin()) {
        found.push(turn.texts);
        await end(turn);
      }
      return found;
    }
    const stateOf = async ({ id }: { id: string }) => (await inbox.find(id))?.state;

    it('begins the run after the newest message, or after the longest wait', async () => {
      await arrive('a');
      expect(await inbox.nextDueAt('run', ['chat'])).toBe(test.now() + 1000);
      test.advance(999);
      expect(await claim()).toBeNull();
      await arrive('b');
      test.advance(999);
      expect(await claim()).toBeNull();
      test.advance(1);
      expect(await turns()).toEqual([['a', 'b']]);
      for (const text of ['c', 'd', 'e', 'f']) {
        await arrive(text);
        test.advance(750);
        expect(await claim(), text).toEqual(text === 'f' ? expect.anything() : null);
      }
    });

    it('counts the longest wait from the first message of the next turn', async () => {
      const first = await arrive('a');
      test.advance(1000);
      const turn = await begin();
      await arrive('b');
      test.advance(900);
      await arrive('c');
      if (turn) await end(turn);
      expect([turn?.texts, await stateOf(first)]).toEqual([['a'], 'done']);
      expect(await claim()).toBeNull();
      test.advance(1000);
      expect(await turns()).toEqual([['b', 'c']]);
    });

    it('does not collect messages of other senders, of the same user id with another alias, or in private', async () => {
      await arrive('a');
      await arrive('b', { sender: { user_id: 'u2' } });
      await arrive('c', { sender: { user_id: 'u2' } });
      await arrive('d', { sender: { user_id: 'u2', alias_id: 'new owner' } });
      await arrive('e');
      await arrive('f', { sender: { shared: false } });
      test.advance(1000);
      expect(await turns()).toEqual([['a'], ['b', 'c'], ['d'], ['e'], ['f']]);
    });

    it('ends with a message that is not collected, at once', async () => {
      await arrive('a');
      await arrive('b');
      await arriveAlone('yes');
      await arrive('c');
      const first = await begin();
      expect(first?.texts).toEqual(['a', 'b']);
      if (first) await end(first);
      expect((await begin())?.texts).toEqual(['yes']);
    });

    it('ends at the request of the sender’s channel, and separates what follows', async () => {
      await arrive('a');
      await inbox.endCollecting('chat', 'u1');
      await arrive('b');
      await inbox.endCollecting('chat', 'somebody else');
      await arrive('c');
      const first = await begin();
      expect(first?.texts).toEqual(['a']);
      if (first) await end(first);
      expect(await claim()).toBeNull();
      test.advance(1000);
      expect(await turns()).toEqual([['b', 'c']]);
    });

    it('separates what the request separated, also after the messages beside it are gone', async () => {
      await arrive('a');
      const before = await arrive('b');
      await inbox.endCollecting('chat', 'u1');
      const after = await arrive('c');
      await arrive('d');
      for (const { id } of [before, after]) expect(await inbox.discard(id)).toBe(true);
      test.advance(1000);
      expect(await turns()).toEqual([['a'], ['d']]);
    });

    it('takes up at most 20 messages and 16,000 characters, line breaks included', async () => {
      for (let n = 0; n < 21; n++) await arrive(`m${n}`);
      test.advance(1000);
      expect((await turns()).map(({ length }) => length)).toEqual([20, 1]);
      await arrive('x'.repeat(8000));
      await arrive('y'.repeat(7999), { message_id: 'y' });
      await arrive('z');
      test.advance(1000);
      expect((await turns()).map((texts) => texts.join('\n').length)).toEqual([16_000, 1]);
    });

    it('fixes the turn: a repeated run has exactly its messages, whatever was sent or edited since', async () => {
      const first = await arrive('a');
      const second = await arrive('b');
      test.advance(1000);
      const turn = await begin();
      await arrive('c');
      const edit = { platform: 'chat', user_id: 'u1', session_id: SESSION, text: 'edited' };
      for (const message_id of ['a', 'b']) expect(await inbox.edit({ ...edit, message_id })).toBe(false);
      expect(await inbox.edit({ ...edit, message_id: 'c' })).toBe(true);
      // The daemon dies: its claim is reaped, and the run is repeated.
      test.advance(CLAIM_MS + 1);
      expect(turn && (await inbox.collect(turn.claim))).not.toBeNull();
      await inbox.reap();
      expect(turn && (await inbox.collect(turn.claim))).toBeNull();
      const [again] = await inbox.claim('run', ['chat'], 1, 'interrupted');
      const further = again && (await inbox.collect(again));
      expect([again?.message.id, further?.map(textOf)]).toEqual([first.id, ['b']]);
      // A stop gives the run back: it may not begin anew with other messages.
      if (again) await inbox.settle(again, { kind: 'given_back' });
      for (const message_id of ['a', 'b']) expect(await inbox.edit({ ...edit, message_id })).toBe(false);
      expect(await inbox.find(second.id)).toMatchObject({ turn_id: first.id, message: { text: 'b' } });
    });

    it('fixes the turn, also if a stop gives the first run back: nothing of it is edited', async () => {
      for (const text of ['a', 'b']) await arrive(text);
      test.advance(1000);
      const turn = await begin();
      if (turn) await inbox.settle(turn.claim, { kind: 'given_back' });
      for (const message_id of ['a', 'b']) {
        const edit = { platform: 'chat', user_id: 'u1', session_id: SESSION, text: 'edited', message_id };
        expect(await inbox.edit(edit)).toBe(false);
      }
      expect(await turns()).toEqual([['a', 'b']]);
    });

    it('fixes the turn of a single message, too', async () => {
      await arrive('a');
      test.advance(1000);
      const turn = await begin();
      await arrive('b');
      if (turn) await inbox.settle(turn.claim, { kind: 'again', wait_ms: 0, failure: 'f', counts: true });
      expect((await begin())?.texts).toEqual(['a']);
    });

    it('gives all messages of a turn its state, and counts each of them', async () => {
      const messages = [await arrive('a'), await arrive('b'), await arrive('c')];
      const states = async () => [...new Set(await Promise.all(messages.map(stateOf)))];
      test.advance(1000);
      const turn = await begin();
      if (turn === null) throw new Error('no turn');
      expect(await states()).toEqual(['running']);
      expect(await inbox.counts()).toMatchObject([{ state: 'running', messages: 3 }]);
      await storeReply(test.store, turn.claim, 'reply');
      expect(await states()).toEqual(['replied']);
      expect(await inbox.expire('chat', test.now(), 'too late')).toBe(0);
      await end(turn);
      expect(await states()).toEqual(['done']);
      expect(await inbox.counts()).toEqual([]);
      expect((await inbox.list({ states: ['done'], limit: 9 })).map(textOf)).toEqual(['c', 'b', 'a']);
      expect(await inbox.nextDueAt('run', ['chat'])).toBeNull();
    });

    it('restarts and deletes a turn as a whole, by any of its messages', async () => {
      for (const at of [0, 1, 2]) {
        const messages = [await arrive(`a${at}`), await arrive(`b${at}`), await arrive(`c${at}`)];
        const { id } = messages[at] ?? { id: '' };
        test.advance(1000);
        const turn = await begin();
        if (turn) await inbox.settle(turn.claim, { kind: 'failed', failure: 'f' });
        expect(await Promise.all(messages.map(stateOf))).toEqual(['failed', 'failed', 'failed']);
        expect(await inbox.retry(id)).toBe(true);
        expect(await Promise.all(messages.map(stateOf))).toEqual(['waiting', 'waiting', 'waiting']);
        const again = await begin();
        expect(again?.texts).toEqual([`a${at}`, `b${at}`, `c${at}`]);
        if (again) await inbox.settle(again.claim, { kind: 'failed', failure: 'f' });
        expect((await inbox.retryFailed({})).sort()).toEqual(messages.map((one) => one.id).sort());
        expect(await inbox.discard(id)).toBe(true);
        expect(await inbox.list({ states: STATES, limit: 9 })).toEqual([]);
        expect(await claim()).toBeNull();
      }
    });

    it('runs at once after a retry', async () => {
      const { id } = await arrive('a');
      expect(await claim()).toBeNull();
      expect(await inbox.retry(id)).toBe(true);
      expect((await begin())?.texts).toEqual(['a']);
    });

    it('is erased with its sender', async () => {
      await arrive('a');
      await arrive('b');
      test.advance(1000);
      await begin();
      const { persons } = test.store;
      if (persons === null) return;
      const { inbox: erased } = await persons.erase({ platform: 'chat', user_id: 'u1' });
      expect(erased.map(textOf).sort()).toEqual(['a', 'b']);
      expect(await inbox.list({ states: STATES, limit: 9 })).toEqual([]);
      expect(await inbox.nextDueAt('run', ['chat'])).toBeNull();
    });
  });
}

function textOf({ message }: { message: { text: string } | null }): string {
  return message?.text ?? '';
}
