import { beforeEach, describe, expect, it } from 'vitest';
import type { ReloadReport, ReloadStore } from '../../src/daemon/store/reloads.ts';
import type { StoreUnderTest } from './store-contract.ts';

const REPORT: ReloadReport = {
  outcome: 'changed',
  changes: { settings: ['LOG_LEVEL'], files: [], tools: { added: ['a'], removed: [], changed: [] } },
  restart: ['PORT'],
  warnings: [],
  problems: [{ setting: 'X', value: null, source: null, problem: 'is wrong', right: 'y' }],
  reason: null,
  agent_digest: 'd',
};
const answerOf = (replica_id: string) => ({ replica_id, host: 'h', pid: 1, report: REPORT });

/** The contract of the port `reloads`. */
export function describeReloads(current: () => StoreUnderTest): void {
  describe('requests to reload', () => {
    let test: StoreUnderTest;
    let reloads: ReloadStore;

    beforeEach(() => {
      test = current();
      reloads = test.store.reloads;
    });

    it('of an administrator reach each daemon until it has answered, and its answer reaches the administrator', async () => {
      const administrator = (await test.beside()).reloads;
      expect(await reloads.open('a')).toEqual([]);
      await administrator.request('one');
      await administrator.request('two');
      expect(await reloads.open('a')).toEqual(['one', 'two']);
      await reloads.answer('one', answerOf('a'));
      expect(await reloads.open('a')).toEqual(['two']);
      expect(await reloads.open('b')).toEqual(['one', 'two']);
      await Promise.all([reloads.answer('two', answerOf('a')), reloads.answer('two', answerOf('b'))]);
      expect(await administrator.answers('one')).toEqual([answerOf('a')]);
      const both = await administrator.answers('two');
      expect(both.map(({ replica_id }) => replica_id).sort()).toEqual(['a', 'b']);
    });

    it('are heard by a daemon of the same process', async () => {
      const heard = new Promise<void>((resolve) => reloads.watch(resolve));
      await reloads.request('one');
      await heard;
    });

    it('end after ten minutes, and the oldest of more than eight end earlier', async () => {
      await reloads.request('early');
      test.advance(600_000);
      await reloads.answer('early', answerOf('a'));
      expect(await reloads.open('a')).toEqual([]);
      expect(await reloads.answers('early')).toEqual([]);
      for (let n = 1; n <= 9; n++) await reloads.request(`${n}`);
      expect(await reloads.open('a')).toEqual(['2', '3', '4', '5', '6', '7', '8', '9']);
      expect(await reloads.answers('1')).toEqual([]);
    });
  });
}
