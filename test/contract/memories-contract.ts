import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type MemoryOwner,
  ownerOfPerson,
  ownerOnPlatform,
  personKey,
} from '../../src/daemon/identity/identity.ts';
import type { MemoryStore } from '../../src/daemon/store/memories/memories.ts';
import { ada, bob } from './fixtures.ts';

/** The memories of one backend, with a clock that the suite moves. */
export interface MemoriesUnderTest {
  memories: MemoryStore;
  /** Opens another instance on the same data, as an administrator or another daemon does. */
  beside(): Promise<MemoryStore>;
  advance(ms: number): void;
  /** Closes every instance and removes the data. */
  dispose(): Promise<void>;
}

/** The maximum number of memories of one owner in these tests. */
const MAX = 20;

const ADA = ownerOfPerson(ada);
const BOB = ownerOfPerson(bob);
const NUMBER = (alias: string | null) => ownerOnPlatform('phone', '+4915112345', alias);

/**
 * The contract of the port `memories`, which every backend must pass.
 * @param make creates a new, empty backend each time; `max` limits the memories of each owner
 */
export function describeMemories(name: string, make: (max: number) => Promise<MemoriesUnderTest>): void {
  describe(`memory contract: ${name}`, () => {
    let test: MemoriesUnderTest;
    let memories: MemoryStore;

    beforeEach(async () => {
      test = await make(MAX);
      memories = test.memories;
    });
    afterEach(() => test.dispose());

    /** Stores a memory one second after the previous one. */
    const add = (text: string, owner = ADA, { turn_id = 'turn-1', tainted = false } = {}) => {
      test.advance(1000);
      return memories.add(owner, { text, turn_id, tainted });
    };
    const textsOf = async (owner: MemoryOwner, from = memories) =>
      (await from.list(owner)).map(({ text }) => text);
    const found = async (text: string, owner = ADA, more = {}) =>
      (await memories.search(owner, { text, words: 'some', limit: 10, ...more })).map((one) => one.text);
    const foundWhole = (text: string, owner = ADA) => found(text, owner, { words: 'every' });

    it('can be reached, and has a description', async () => {
      await expect(memories.check()).resolves.toBeUndefined();
      expect(memories.description).not.toBe('');
    });

    it('returns a memory as it was stored, newest first, even to another instance', async () => {
      const tea = await add('I like tea', ADA, { turn_id: 'turn-7' });
      const dog = await add('My dog is called Rex', ADA, { tainted: true });
      expect(tea).toMatchObject({ text: 'I like tea', turn_id: 'turn-7', tainted: false });
      expect(tea.created_at).toBe(tea.used_at);
      expect(dog.created_at).toBe(tea.created_at + 1000);
      expect(await memories.list(ADA)).toEqual([dog, tea]);
      expect(await (await test.beside()).list(ADA)).toEqual([dog, tea]);
    });

    it('keeps a text exactly as it is, whatever it contains', async () => {
      const hostile = `a' OR "1"="1" -- :* NEAR(x) {y} ^z \\ %s \u{1f600} é é 日本\n\ttab`;
      await add(hostile);
      expect(await textsOf(ADA)).toEqual([hostile]);
      expect(await found('NEAR')).toEqual([hostile]);
    });

    it('does not show or change memories of another owner', async () => {
      const { memory_id, turn_id } = await add('I like tea');
      for (const other of [BOB, ownerOnPlatform('phone', ada), NUMBER(null)]) {
        await add('I like tea too', other, { turn_id });
        expect(await textsOf(other)).toEqual(['I like tea too']);
        expect(await found('tea', other)).toEqual(['I like tea too']);
        expect(await foundWhole('tea', other)).toEqual(['I like tea too']);
        expect(await memories.forget(other, [memory_id])).toBe(0);
        await memories.taint(other, turn_id);
        await memories.use(other, [memory_id]);
        expect(await memories.forget(other, 'all')).toBe(1);
      }
      const [kept] = await memories.list(ADA);
      expect(kept).toMatchObject({ text: 'I like tea', tainted: false });
      expect(kept?.used_at).toBe(kept?.created_at);
    });

    it('keeps the memories of an owner with a key of any length and content', async () => {
      // Random, because a database may compress a long key.
      const sub = randomBytes(3000).toString('base64');
      for (const owner of [`${sub}1`, `${sub}2`, '\0', '\ud800'].map((one) =>
        ownerOfPerson(personKey({ sub: one })),
      )) {
        const tea = await add('I like tea', owner);
        expect(await memories.list(owner)).toEqual([tea]);
        expect(await found('tea', owner)).toEqual(['I like tea']);
        expect(await memories.forget(owner, 'all')).toBe(1);
      }
    });

    it('has no memories for an unknown owner', async () => {
      expect(await memories.list(ADA)).toEqual([]);
      expect(await found('tea')).toEqual([]);
      expect(await memories.forget(ADA, 'all')).toBe(0);
      await memories.use(ADA, ['x']);
      await memories.taint(ADA, 'turn-1');
    });

    describe('search', () => {
      it('finds a word in any case, with or without diacritics, and with a different ending', async () => {
        await add('Ich wohne in ZÜRICH');
        await add('Allergic to peanuts');
        expect(await found('Zurich')).toEqual(['Ich wohne in ZÜRICH']);
        expect(await found('zürich?')).toEqual(['Ich wohne in ZÜRICH']);
        expect(await found('Is there one peanut?')).toEqual(['Allergic to peanuts']);
        expect(await found('my allergies')).toEqual(['Allergic to peanuts']);
        expect(await found('Bern')).toEqual([]);
      });

      it('finds words of scripts without spaces', async () => {
        await add('我喜欢喝绿茶');
        await add('私は犬を飼っています');
        expect(await found('绿茶')).toEqual(['我喜欢喝绿茶']);
        expect(await found('犬')).toEqual(['私は犬を飼っています']);
      });

      it('does not search for a single letter, unless every word must match', async () => {
        await add('I like tea');
        expect(await found('Can I have a car?')).toEqual([]);
        expect(await foundWhole('I')).toEqual(['I like tea']);
      });

      it('finds a number only if all its digits match', async () => {
        await add('My order is 1004');
        expect(await found('order 100')).toEqual(['My order is 1004']);
        expect(await found('100')).toEqual([]);
        expect(await found('1004')).toEqual(['My order is 1004']);
      });

      it('finds a short word even if it has a plural ending in the memory', async () => {
        await add('She has two dogs');
        await add('The dome is open');
        expect(await found('dog')).toEqual(['She has two dogs']);
        expect(await foundWhole('dog')).toEqual([]);
      });

      it('ranks memories that contain more and rarer words first, and newer memories first among equals', async () => {
        for (const what of ['my cat is grey', 'my car is red', 'my dog is called Rex']) await add(what);
        expect(await found('what is my dog called')).toEqual([
          'my dog is called Rex',
          'my car is red',
          'my cat is grey',
        ]);
        expect((await found('what is my dog called', ADA, { limit: 1 })).length).toBe(1);
      });

      it('excludes tainted memories on request, before it applies the limit', async () => {
        await add('the hotel is closed', ADA, { tainted: true });
        await add('the hotel in Rome was good');
        expect(await found('hotel closed', ADA, { untainted: true, limit: 1 })).toEqual([
          'the hotel in Rome was good',
        ]);
        expect(await found('hotel closed', ADA, { limit: 1 })).toEqual(['the hotel is closed']);
      });

      it('finds only memories that contain every word exactly, if this is requested', async () => {
        await add('I like green tea');
        await add('I like black tea');
        await add('I collect teacups');
        expect(await foundWhole('TEA green')).toEqual(['I like green tea']);
        expect(await foundWhole('tea')).toEqual(['I like black tea', 'I like green tea']);
        expect(await foundWhole('tea milk')).toEqual([]);
      });

      it('finds nothing for a text without words', async () => {
        await add('I like tea');
        for (const nothing of ['', '  ', '"', '*', "' OR ''='", ':*', '\u0000', '🙂']) {
          expect(await foundWhole(nothing)).toEqual([]);
          expect(await found(nothing)).toEqual([]);
        }
      });

      it('treats any text as words, never as query syntax', async () => {
        await add('I like tea');
        const hostile = [
          'tea" OR "x',
          'tea*',
          "tea'",
          'NOT tea',
          'terms:tea',
          '(tea',
          'tea & !x',
          'tea:*|x',
          'tea\\',
        ];
        for (const text of hostile) expect([text, await found(text)]).toEqual([text, ['I like tea']]);
        expect(await found('tea '.repeat(5000))).toEqual(['I like tea']);
      });
    });

    describe('bounds', () => {
      it('limit the memories of an owner: at the limit, a new memory replaces the least recently used', async () => {
        const first = await add('number 0');
        await add('number 1');
        await add('of Bob', BOB);
        for (let n = 2; n < MAX; n++) await add(`number ${n}`);
        test.advance(1000);
        await memories.use(ADA, [first.memory_id]);
        expect(await memories.list(ADA)).toHaveLength(MAX);
        await add('one more');
        const left = await textsOf(ADA);
        expect(left).toHaveLength(MAX);
        expect(left).toContain('number 0');
        expect(left).not.toContain('number 1');
        expect(await found('1')).toEqual([]);
        expect(await textsOf(BOB)).toEqual(['of Bob']);
      });

      it('are enforced when many memories are stored at once', async () => {
        for (let n = 1; n < MAX; n++) await add(`number ${n}`);
        const beside = await test.beside();
        await Promise.all(
          ['a', 'b', 'c', 'd'].map((text, n) =>
            (n % 2 === 0 ? memories : beside).add(ADA, { text, turn_id: 't', tainted: false }),
          ),
        );
        const left = await textsOf(ADA);
        expect(left).toHaveLength(MAX);
        expect(left).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd']));
      });

      it('make equal texts share one memory, with the later date', async () => {
        const first = await add('I like tea', ADA, { turn_id: 'turn-1' });
        await add('something else');
        const again = await add('I like tea', ADA, { turn_id: 'turn-2' });
        expect(again).toMatchObject({ memory_id: first.memory_id, turn_id: 'turn-2' });
        expect(again.created_at).toBe(first.created_at + 2000);
        expect(await textsOf(ADA)).toEqual(['I like tea', 'something else']);
        expect(await found('tea')).toEqual(['I like tea']);
      });
    });

    describe('taint', () => {
      it('marks all memories of a turn', async () => {
        await add('before', ADA, { turn_id: 'turn-1' });
        await add('during', ADA, { turn_id: 'turn-2' });
        await memories.taint(ADA, 'turn-2');
        const tainted = (await memories.list(ADA)).map((one) => [one.text, one.tainted]);
        expect(tainted).toEqual([
          ['during', true],
          ['before', false],
        ]);
      });

      it('is not added to a text that the owner had stored untainted, and is removed if the text is stored untainted', async () => {
        await add('I like tea');
        expect(await add('I like tea', ADA, { tainted: true })).toMatchObject({ tainted: false });
        await add('I like milk', ADA, { tainted: true });
        expect(await add('I like milk', ADA, { tainted: true })).toMatchObject({ tainted: true });
        expect(await add('I like milk')).toMatchObject({ tainted: false });
      });
    });

    it('stores memories while all of the owner are deleted, and neither fails', async () => {
      const beside = await test.beside();
      for (let round = 0; round < 10; round++) {
        await add('I like tea');
        await Promise.all([beside.forget(ADA, 'all'), add('My dog is called Rex'), add('I like milk')]);
        expect((await textsOf(ADA)).length).toBeLessThanOrEqual(2);
      }
    });

    it('deletes some memories, or all, and their words in the search index', async () => {
      const tea = await add('I like tea');
      await add('I like milk');
      await add('I like water');
      expect(await memories.forget(ADA, [tea.memory_id, 'unknown'])).toBe(1);
      expect(await textsOf(ADA)).toEqual(['I like water', 'I like milk']);
      expect(await found('tea')).toEqual([]);
      expect(await memories.forget(ADA, [])).toBe(0);
      expect(await memories.forget(ADA, 'all')).toBe(2);
      expect(await textsOf(ADA)).toEqual([]);
      await add('I like tea');
      expect(await found('tea')).toEqual(['I like tea']);
    });

    describe('a user id that arrives with a different alias', () => {
      const ways: [string, (owner: MemoryOwner) => Promise<unknown>][] = [
        ['a list', (owner) => textsOf(owner)],
        ['a search', (owner) => found('tea', owner)],
        ['a new memory', (owner) => add('I like milk', owner)],
        ['a use', (owner) => memories.use(owner, [])],
        ['a deletion', (owner) => memories.forget(owner, ['x'])],
        ['a taint', (owner) => memories.taint(owner, 'x')],
      ];

      for (const [what, access] of ways) {
        it(`begins with no memories if its first access is ${what}`, async () => {
          await add('I like tea', NUMBER('DE.one'));
          await add('I like tea', ADA);
          await access(NUMBER('DE.two'));
          expect(await textsOf(NUMBER('DE.two'))).not.toContain('I like tea');
          expect(await found('tea', NUMBER('DE.two'))).toEqual([]);
          // The memories are deleted, not hidden.
          expect(await textsOf(NUMBER('DE.one'))).not.toContain('I like tea');
          expect(await textsOf(NUMBER(null))).not.toContain('I like tea');
          expect(await textsOf(ADA)).toEqual(['I like tea']);
        });
      }

      it('keeps its memories if the alias is the same, absent, or the first alias', async () => {
        await add('I like tea', NUMBER(null));
        expect(await textsOf(NUMBER('DE.one'))).toEqual(['I like tea']);
        expect(await textsOf(NUMBER(null))).toEqual(['I like tea']);
        expect(await found('tea', NUMBER('DE.one'))).toEqual(['I like tea']);
        expect(await found('tea', NUMBER('DE.two'))).toEqual([]);
      });

      it('loses the earlier memories even if only a search has used the earlier alias', async () => {
        await add('I like tea', NUMBER(null));
        await found('tea', NUMBER('DE.one'));
        await add('I like milk', NUMBER('DE.two'));
        expect(await textsOf(NUMBER(null))).toEqual(['I like milk']);
      });
    });
  });
}
