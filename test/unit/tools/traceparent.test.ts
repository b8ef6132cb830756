import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { CallClient } from '../../../src/daemon/tools/call-client.ts';
import type { CallCredential } from '../../../src/daemon/tools/choose-credential.ts';
import { builtInSource } from '../../../src/daemon/tools/describe-source.ts';
import type { ToolSourceInfo } from '../../../src/daemon/tools/tool.ts';
import type { Span, SpanScope } from '../../../src/daemon/trace/span.ts';
import { Trace } from '../../../src/daemon/trace/trace.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { collectLog } from '../../support/log-lines.ts';
import { accessTo, sourceOf, toolOf } from '../../support/tools.ts';

// agentd-telemetry(7), "Parents": requests to the systems that tools call carry the span of the request.

let api: FakeApi;
beforeAll(async () => {
  api = await FakeApi.start({ secret: 'a secret of the tests that is long enough' });
});
beforeEach(() => api.requests.splice(0));
afterAll(() => api.close());

/** A span. Its `traceparent` is its position in the tree of spans. */
function spanAt(place: string): Span {
  return {
    traceparent: place,
    content: null,
    child: (step) => spanAt(`${place}/${step}`),
    event: () => {},
    end: () => {},
  };
}

function clientOf(
  source: ToolSourceInfo,
  credential: CallCredential,
  scope: SpanScope | null = spanAt('message'),
) {
  const { log } = collectLog();
  const trace = new Trace(systemClock, [], scope).begin('tool');
  const call = { signal: new AbortController().signal, trace, request_id: 'r1', log };
  const access = accessTo(source.target?.is_api ? api.url : undefined);
  return new CallClient(
    toolOf({ source, credentials: credential.use === 'default' ? 'default' : 'none' }),
    credential,
    call,
    access,
  ).client;
}
const sent = (path: string) => api.seen(path).map(({ headers }) => headers.traceparent);

test('a request and a fetch carry the traceparent of their own span, whatever the tool or its library sets', async () => {
  const client = clientOf(sourceOf({ base_url: api.url }), { use: 'none' });
  await client.request({ method: 'GET', path: '/a', headers: { Traceparent: 'of the tool' } });
  await client.fetch(`${api.url}/b`, { headers: { traceparent: 'of the library' } });
  expect([sent('/a'), sent('/b')]).toEqual([['message/tool/downstream'], ['message/tool/downstream']]);
});

test('a login with default credentials carries no traceparent, because it serves several messages', async () => {
  const client = clientOf(builtInSource(api.url), { use: 'default', because: null });
  await client.request({ method: 'GET', path: '/users' });
  expect(sent('/authentication_token')).toEqual([undefined]);
  expect(sent('/users')).toEqual(['message/tool/downstream']);
});

test('without spans, there is no traceparent header', async () => {
  const client = clientOf(sourceOf({ base_url: api.url }), { use: 'none' }, null);
  await client.request({ method: 'GET', path: '/a' });
  await client.fetch(`${api.url}/b`);
  expect([...sent('/a'), ...sent('/b')]).toEqual([undefined, undefined]);
});
