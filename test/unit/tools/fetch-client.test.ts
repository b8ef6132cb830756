import { afterAll, beforeAll, expect, test } from 'vitest';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { TimeLimit } from '../../../src/daemon/time/time-limit.ts';
import { CallClient } from '../../../src/daemon/tools/call-client.ts';
import type { CallCredential } from '../../../src/daemon/tools/choose-credential.ts';
import type { ToolAccess } from '../../../src/daemon/tools/tool-access.ts';
import { Trace } from '../../../src/daemon/trace/trace.ts';
import { answersTwice } from '../../support/answers-twice.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { collectLog } from '../../support/log-lines.ts';
import { accessTo, sourceOf, toolOf } from '../../support/tools.ts';

// Requests of protocol libraries.

let api: FakeApi;
beforeAll(async () => {
  api = await FakeApi.start({ secret: 'a secret of the tests that is long enough' });
});
afterAll(() => api.close());

/**
 * Sends a request that this signal ends. @returns the statuses with which the metric `agentd_downstream_requests_total`
 * (agentd-metrics(7)) counts the request
 */
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

test('an answer too many to one person is not given to another', async () => {
  const base_url = await answersTwice((request) => /^authorization: Bearer (\S+)/im.exec(request)?.[1]);
  const source = sourceOf({ base_url, credentials: 'user' });
  const tool = toolOf({ source, credentials: 'user' });
  const ask = async (person: string) => {
    const { signal } = new AbortController();
    const call = { signal, trace: new Trace(systemClock), request_id: 'r1', log: collectLog().log };
    const whyEnded = async () => null;
    const credential = { use: 'user', token: new Secret(person), whyEnded, fallback: false } as const;
    const { client } = new CallClient(tool, credential, call, accessTo(undefined));
    return (await client.fetch(`${base_url}/tools`)).text();
  };
  for (let n = 0; n < 8; n++) expect(await ask(`person-${n}`)).toBe(`person-${n}`);
});

test.each([
  ['user', { fallback: false }],
  ['exchange', {}],
  ['default', { because: null }],
] as const)('the token of a request is masked in its answer: %s', async (use, members) => {
  const sent = new Secret('the token that is sent');
  const { target, ...source } = sourceOf({ base_url: api.url }, api.url);
  const exchange = {} as NonNullable<NonNullable<typeof target>['exchange']>;
  const tool = toolOf({ source: { ...source, target: target && { ...target, is_api: true, exchange } } });
  const token = use === 'user' ? sent : new Secret('the token of the person');
  const credential = { use, token, whyEnded: async () => null, ...members } as CallCredential;
  const obtain = async () => sent;
  const access = {
    ...accessTo(undefined),
    ...{ exchange: { exchange: obtain }, defaultToken: { get: obtain } },
  } as unknown as ToolAccess;
  const { signal } = new AbortController();
  const call = { signal, trace: new Trace(systemClock), request_id: 'r1', log: collectLog().log };
  const opened = new CallClient(tool, credential, call, access);
  api.misbehave('/tools', { status: 200, body: {} });
  await opened.client.fetch(`${api.url}/tools`);
  expect(opened.secrets).toContain(sent);
});
