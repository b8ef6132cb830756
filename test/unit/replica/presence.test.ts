import { expect, it } from 'vitest';
import { Differences } from '../../../src/daemon/replica/presence.ts';
import type { Replica } from '../../../src/daemon/store/replicas.ts';
import { collectLog } from '../../support/log-lines.ts';

const OWN = { digests: {}, agent_digest: 'a' };
const other = (agent_digest: string): Replica => ({
  ...{ replica_id: 'r2', host: 'h2', pid: 7, version: '1', uptime_ms: 1, seen_at: 1 },
  ...{ runs: 0, waiting: 0, digests: {}, agent_digest },
});

it('another agent on a replica is a warning after it has differed for more than a minute, once', () => {
  const { log, lines } = collectLog();
  const differences = new Differences(log);
  differences.compare(OWN, [other('b')], 0);
  differences.compare(OWN, [other('b')], 60_000);
  expect(lines).toEqual([]);
  differences.compare(OWN, [other('b')], 65_000);
  differences.compare(OWN, [other('b')], 70_000);
  expect(lines).toMatchObject([{ agent_digest: 'a', other_digest: 'b', host: 'h2', pid: 7 }]);
});

it('replicas that agree in between, or have stopped, are no warning', () => {
  const { log, lines } = collectLog();
  const differences = new Differences(log);
  differences.compare(OWN, [other('b')], 0);
  differences.compare(OWN, [other('a')], 30_000);
  differences.compare(OWN, [other('b')], 61_000);
  differences.compare(OWN, [], 62_000);
  differences.compare(OWN, [other('b')], 125_000);
  expect(lines).toEqual([]);
});
