import { beforeEach, describe, expect, it } from 'vitest';
import type { ServerDefinition, ToolDigestStore } from '../../src/daemon/store/tool-digests.ts';
import type { StoreUnderTest } from './store-contract.ts';

const definition = (digest: string): ServerDefinition => ({
  digest,
  title: null,
  description: `said by ${digest} – ü`,
  schema: '{"type":"object"}',
});
const [first, second, third] = ['d1', 'd2', 'd3'].map(definition) as [
  ServerDefinition,
  ServerDefinition,
  ServerDefinition,
];

/** The contract of the port `toolDigests`. */
export function describeToolDigests(current: () => StoreUnderTest): void {
  describe('tool digests', () => {
    let test: StoreUnderTest;
    let tools: ToolDigestStore;
    let since: number;

    beforeEach(() => {
      test = current();
      tools = test.store.toolDigests;
      since = test.now();
    });

    it('trust the first definition of a tool, and keep it', async () => {
      const record = { name: 'docs_search', source: 'docs', trusted: first, trusted_at: since };
      const unchanged = { ...record, changed: null, changed_at: null };
      expect(await tools.find('docs_search')).toBeNull();
      expect(await tools.observe('docs_search', 'docs', first)).toEqual(unchanged);
      test.advance(1000);
      expect(await tools.observe('docs_search', 'docs', first)).toEqual(unchanged);
      expect(await (await test.beside()).toolDigests.find('docs_search')).toEqual(unchanged);
      expect(await (await test.restart()).toolDigests.list()).toEqual([unchanged]);
    });

    it('store a changed definition until the tool has its trusted definition again', async () => {
      await tools.observe('docs_search', 'docs', first);
      test.advance(1000);
      const changed = { changed: second, changed_at: since + 1000 };
      expect(await tools.observe('docs_search', 'docs', second)).toMatchObject({
        trusted: first,
        ...changed,
      });
      test.advance(1000);
      expect(await tools.observe('docs_search', 'docs', second)).toMatchObject(changed);
      expect(await tools.observe('docs_search', 'docs', third)).toMatchObject({
        changed: third,
        changed_at: since + 2000,
      });
      await tools.observe('docs_search', 'docs', first);
      expect(await tools.find('docs_search')).toMatchObject({ changed: null, changed_at: null });
    });

    it('trust the changed definition that an administrator has seen, and no other', async () => {
      expect(await tools.trust('docs_search', 'd2')).toBe(false);
      await tools.observe('docs_search', 'docs', first);
      expect(await tools.trust('docs_search', 'd1')).toBe(false);
      await tools.observe('docs_search', 'docs', second);
      await tools.observe('docs_search', 'docs', third);
      test.advance(500);
      const administrator = (await test.beside()).toolDigests;
      expect(await administrator.trust('docs_search', 'd2')).toBe(false);
      expect(await tools.find('docs_search')).toMatchObject({ trusted: first, changed: third });
      expect(await administrator.trust('docs_search', 'd3')).toBe(true);
      expect(await tools.find('docs_search')).toMatchObject({
        trusted: third,
        trusted_at: since + 500,
        changed: null,
        changed_at: null,
      });
      expect(await administrator.trust('docs_search', 'd3')).toBe(false);
    });

    it('are listed by name', async () => {
      await tools.observe('b', 'docs', first);
      await tools.observe('a', 'shop', first);
      expect((await tools.list()).map(({ name, source }) => [name, source])).toEqual([
        ['a', 'shop'],
        ['b', 'docs'],
      ]);
    });

    it('trust only one of two first definitions that are seen at the same time', async () => {
      const peer = await test.another();
      const [one, other] = await Promise.all([
        tools.observe('docs_search', 'docs', first),
        peer.toolDigests.observe('docs_search', 'docs', second),
      ]);
      expect(one.trusted).toEqual(other.trusted);
    });
  });
}
