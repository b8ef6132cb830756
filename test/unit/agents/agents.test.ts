import { expect, it } from 'vitest';
import type { AgentCondition, MessageFacts } from '../../../src/daemon/agents/agent-entry.ts';
import { chooseEntry, isInShare } from '../../../src/daemon/agents/agents.ts';

const FACTS: MessageFacts = { channel: 'web', tenant_id: 'acme', workspace: null, locale: 'de-AT' };

async function chosen(when: AgentCondition | null, facts: Partial<MessageFacts> = {}, inShare = true) {
  const canary_percent = inShare ? null : 10;
  const first = { name: 'first', when, canary_percent };
  const last = { name: 'last', when: null, canary_percent: null };
  return (await chooseEntry([first, last], { ...FACTS, ...facts }, async () => inShare)).name;
}

it('the first agent answers whose conditions all fit; the last one answers everything else', async () => {
  expect(await chosen({ channel: ['mail', 'web'] })).toBe('first');
  expect(await chosen({ channel: ['web'], tenant_id: ['acme'] })).toBe('first');
  expect(await chosen({ channel: ['web'], tenant_id: ['other'] })).toBe('last');
  expect(await chosen({ tenant_id: ['acme'] }, { tenant_id: null })).toBe('last');
  expect(await chosen({ workspace: ['T1'] })).toBe('last');
  expect(await chosen({ workspace: ['T1'] }, { workspace: 'T1' })).toBe('first');
  expect(await chosen(null)).toBe('first');
  expect(await chosen(null, {}, false)).toBe('last');
});

it('a language fits its regions, but not other languages and not the reverse', async () => {
  for (const [tag, locale] of [
    ['de', 'de'],
    ['de', 'de-AT'],
    ['de_AT', 'de-at'],
  ] as const)
    expect(await chosen({ locale: [tag] }, { locale })).toBe('first');
  for (const [tag, locale] of [
    ['de', 'den'],
    ['de-AT', 'de'],
    ['de', 'en'],
    ['de', null],
  ] as const)
    expect(await chosen({ locale: [tag] }, { locale })).toBe('last');
});

it('a share has about its size, is always the same, grows by others only, and depends on the key and the agent', () => {
  const share = (percent: number, key = 'key', agent = 'next') =>
    Array.from({ length: 2000 }, (_, n) => `person ${n}`).filter((sender) =>
      isInShare(Buffer.from(key), { agent, sender, percent }),
    );
  const ten = share(10);
  expect(ten.length).toBeGreaterThan(150);
  expect(ten.length).toBeLessThan(250);
  expect(share(10)).toEqual(ten);
  expect(share(20)).toEqual(expect.arrayContaining(ten));
  expect(share(10, 'other')).not.toEqual(ten);
  expect(share(10, 'key', 'other')).not.toEqual(ten);
  expect([share(0).length, share(100).length]).toEqual([0, 2000]);
});
