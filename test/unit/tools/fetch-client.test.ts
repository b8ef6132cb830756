import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { TimeLimit } from '../../../src/daemon/time/time-limit.ts';
import { CallClient } from '../../../src/daemon/tools/call-client.ts';
import { Trace } from '../../../src/daemon/trace/trace.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { collectLog } from '../../support/log-lines.ts';
import { accessTo, sourceOf, toolOf } from '../../support/tools.ts';

// The metric `agentd_downstream_requests_total` (agentd-metrics(7)) for requests of protocol libraries.

let api: FakeApi;
beforeAll(async () => {
  api = await FakeApi.start({ secret: 'a secret of the tests that is long enough' });
});
afterAll(() => api.close());

/** Sends a request that this signal ends. @returns the statuses with which the metric counts the request */
async function counted(signal: AbortSignal): Promise<unknown[]> {
  const ends: unknown[] = [];
  const source = sourceOf({ base_url: api.url });
  const call = { signal, trace: new Trace(systemClock), request_id: 'r1', log: collectLog().log };
  const observer = {
    downstreamEnded: (name: string, status: number | string) => void ends.push([name, status]),
  };
  const access = { ...accessTo(undefined), observer };
  const { client } = new CallClient(toolOf({ source, credentials: 'none' }), { use: 'none' }, call, access);
  api.misbehave('/tools', 'hang');
  await client.fetch(`${api.url}/tools`, { signal }).catch(() => undefined);
  return ends.map((end) => (end as unknown[])[1]);
}

test('a request that took too long is counted as a timeout', async () => {
  const limit = new TimeLimit(systemClock, 20);
  expect(await counted(limit.signal)).toEqual(['timeout']);
  limit.lift();
});

test('an aborted request is not counted', async () => {
  expect(await counted(AbortSignal.abort(new Error('the daemon is stopping')))).toEqual([]);
});
