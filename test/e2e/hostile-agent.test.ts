import { describe, expect, it } from 'vitest';
import { DEFECTS } from '../hostile/defects.ts';
import { play } from '../hostile/play.ts';
import { reportOf } from '../hostile/report.ts';
import { effort, isThorough } from '../support/effort.ts';
import { defectsFit } from '../support/random-runs.ts';

// Tests agentd-agent(7), "Threat model": a model that follows the worst possible prompt, on all channels of a daemon.
// `npm run hostile` plays more conversations, and prints how to replay a conversation.

describe('a hostile model', () => {
  it('can make only calls that its person may make, and only writes that its person has confirmed', {
    timeout: 600_000,
  }, async () => {
    const seed = 7;
    const played = await play({ runs: effort(3, 1000), seed });
    expect(played.violations, reportOf(played, seed)).toEqual([]);
    // A model that achieves nothing would not break a rule either, so the test checks that it achieves something.
    const { tally } = played;
    for (const channel of ['webchat', 'sse', 'teamchat', 'phonechat', 'msgbot'])
      expect(tally[`replies on ${channel}`], channel).toBeGreaterThan(effort(1, 10));
    for (const kind of ['own', 'default', 'exchanged', 'none'])
      expect(tally[`credential ${kind}`], kind).toBeGreaterThan(effort(0, 3));
    expect(tally['writes, confirmed']).toBeGreaterThan(effort(0, 10));
    expect(tally['writes, unasked']).toBeGreaterThan(effort(0, 10));
    expect(tally['strangers who interfered']).toBeGreaterThan(effort(0, 5));
  });

  it.runIf(isThorough)(
    'can use only the credential of its person, even with 20 people at once',
    {
      timeout: 600_000,
    },
    async () => {
      const seed = 1;
      const played = await play({ runs: effort(24, 2000), seed, crowd: 20 });
      expect(played.violations, reportOf(played, seed)).toEqual([]);
      expect(played.tally['credential own']).toBeGreaterThan(effort(5, 50));
      expect(played.tally['credential default']).toBeGreaterThan(effort(2, 20));
      expect(played.tally['requests to crm']).toBeGreaterThan(effort(2, 20));
    },
  );

  defectsFit(DEFECTS);

  it.runIf(isThorough)(
    'is caught breaking every rule that a defective daemon does not enforce',
    {
      timeout: 600_000,
    },
    async () => {
      const bin = `${import.meta.dirname}/../hostile/broken-agentd.ts`;
      const rules = Object.values(DEFECTS).map(({ breaks }) => breaks);
      // The journal is checked only at the end.
      const until = rules.filter((rule) => rule !== 'journal');
      const played = await play({ runs: 120, seed: 3, until, bin, env: { HOSTILE_DEFECT: 'all' } });
      const found = played.violations.map(({ rule }) => rule);
      expect([...new Set(found)].sort()).toEqual([...new Set([...rules, ...found])].sort());
    },
  );
});
