import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { createTelemetry, type Telemetry } from '../../../src/daemon/telemetry/telemetry.ts';
import type { TelemetryOptions } from '../../../src/daemon/telemetry/telemetry-options.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import type { BegunMessage } from '../../../src/daemon/trace/span.ts';
import { Trace } from '../../../src/daemon/trace/trace.ts';
import type { TraceLine, TraceRecord } from '../../../src/daemon/trace/trace-record.ts';
import { Collector } from '../../support/collector.ts';
import { signToken } from '../../support/fake-api.ts';
import { listenOnFreePort } from '../../support/free-ports.ts';
import { collectLog } from '../../support/log-lines.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TOKEN = signToken({ sub: 'user-1' }, 'a secret of the tests that is long enough');
const SPAN = 'b7ad6b7169203331';

let collector: Collector;
let open: Telemetry[] = [];
beforeEach(async () => {
  collector = await Collector.start();
});
afterEach(async () => {
  await Promise.all(open.map((one) => one.stop(0)));
  open = [];
  await collector.close();
});

async function telemetryOf(options: Partial<TelemetryOptions> = {}) {
  const logged = collectLog();
  const telemetry = await createTelemetry(
    {
      url: `${collector.url}/v1/traces`,
      protocol: 'http/protobuf',
      headers: {},
      timeout_ms: 10_000,
      compression: 'none',
      tls: { ca: undefined, cert: undefined, key: undefined },
      resource: { 'service.name': 'agentd' },
      sampler: 'parentbased_always_on',
      sampler_ratio: 1,
      batches: {
        maxQueueSize: 2048,
        maxExportBatchSize: 512,
        scheduledDelayMillis: 5,
        exportTimeoutMillis: 30_000,
      },
      propagates: true,
      takesContent: false,
      version: '1.2.3',
      ...options,
    },
    logged.log,
  );
  open.push(telemetry);
  return { ...telemetry, logged };
}

const MESSAGE: BegunMessage = {
  turn_id: 't1',
  channel: 'webchat',
  is_later: false,
  parent: null,
  is_authenticated: false,
  began_at: null,
};

const recordOf = (outcome: string): TraceRecord => ({
  turn_id: 't1',
  request_id: 'r1',
  session_id: 's1',
  message_id: null,
  platform: 'webchat',
  user_id: 'u1',
  started_at: 1000,
  finished_at: 1500,
  outcome,
  lines: [],
});

function send({ observer }: Pick<Telemetry, 'observer'>, message: Partial<BegunMessage> = {}) {
  const span = observer.messageBegan({ ...MESSAGE, ...message });
  if (span === null) throw new Error('nothing collects spans');
  span.end(recordOf('answered'));
  return span.traceparent;
}

describe('the traceparent header of a request', () => {
  const valid = `00-${TRACE}-${SPAN}-01`;
  test.each([
    ['is used as the parent', valid, valid],
    ['keeps only the sampling flag of its flags', `00-${TRACE}-${SPAN}-ff`, valid],
    ['can have a version that is not known yet', `cc-${TRACE}-${SPAN}-01-what-is-new`, valid],
    ['must have a trace id', `00-${'0'.repeat(32)}-${SPAN}-01`, null],
    ['must have a span id', `00-${TRACE}-${'0'.repeat(16)}-01`, null],
    ['must be in lower case', valid.toUpperCase(), null],
    ['must not have the version ff', `ff-${TRACE}-${SPAN}-01`, null],
    ['must have no further fields in version 00', `${valid}-more`, null],
    ['must have a single value', `${valid}, ${valid}`, null],
    ['must not be truncated', valid.slice(0, -1), null],
    ['must not be endless', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(10_000)}`, null],
    ['may be absent', undefined, null],
  ])('%s', async (_words, header, parent) => {
    const { observer } = await telemetryOf();
    expect(observer.readParent(header)).toBe(parent);
  });

  it('is ignored if OTEL_PROPAGATORS lacks tracecontext, and messages then have no traceparent', async () => {
    const telemetry = await telemetryOf({ propagates: false });
    expect(telemetry.observer.readParent(valid)).toBeNull();
    expect(send(telemetry)).toBeNull();
  });
});

describe('the sampling of a message', () => {
  const sampled = `00-${TRACE}-${SPAN}-01`;
  const unsampled = `00-${TRACE}-${SPAN}-00`;
  /** A parent with a low trace id. With a ratio of 0.5, the lower half of all trace ids would be sampled. */
  const low = `00-${'0'.repeat(31)}1-${SPAN}-01`;
  const flagOf = (traceparent: string | null) => traceparent?.slice(-2);

  it('follows the parent that an authenticated sender gives', async () => {
    const telemetry = await telemetryOf({ sampler: 'parentbased_always_off' });
    expect(flagOf(send(telemetry, { parent: sampled, is_authenticated: true }))).toBe('01');
    expect(flagOf(send(telemetry, { parent: unsampled, is_authenticated: true }))).toBe('00');
    expect(flagOf(send(telemetry))).toBe('00');
  });

  it('can be neither forced nor prevented by an unknown client', async () => {
    const off = await telemetryOf({ sampler: 'parentbased_always_off' });
    expect(send(off, { parent: sampled })).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    const on = await telemetryOf({ sampler: 'parentbased_always_on' });
    expect(flagOf(send(on, { parent: unsampled }))).toBe('01');
  });

  it.each(['traceidratio', 'parentbased_traceidratio'] as const)(
    'with %s cannot be forced by the choice of a trace id',
    async (sampler) => {
      const telemetry = await telemetryOf({ sampler, sampler_ratio: 0.5 });
      const flags = Array.from({ length: 200 }, () => flagOf(send(telemetry, { parent: low })));
      expect(new Set(flags)).toEqual(new Set(['00', '01']));
    },
  );

  it('is the same for all spans of the message', async () => {
    const telemetry = await telemetryOf({ sampler: 'traceidratio', sampler_ratio: 0.5 });
    for (let index = 0; index < 100; index++) {
      const span = telemetry.observer.messageBegan({ ...MESSAGE, parent: low });
      expect(flagOf(span?.child('run-agent').child('tool').traceparent ?? null)).toBe(
        flagOf(span?.traceparent ?? null),
      );
    }
  });

  it('that excludes the message exports none of its spans', async () => {
    const telemetry = await telemetryOf({ sampler: 'always_off' });
    const span = telemetry.observer.messageBegan(MESSAGE);
    const child = span?.child('tool');
    child?.event({ at: 0, step: 'credentials', verdict: 'ok' });
    child?.end({ at: 0, step: 'tool', verdict: 'ok' });
    span?.end(recordOf('answered'));
    expect(await telemetry.stop(5000)).toBe(true);
    expect(collector.exports).toEqual([]);
  });
});

describe('exports', () => {
  it.each([
    ['http/protobuf', 'gzip'],
    ['http/protobuf', 'none'],
    ['http/json', 'gzip'],
  ] as const)('are sent as %s with compression %s', async (protocol, compression) => {
    const headers = { 'x-api-key': new Secret('key') };
    const telemetry = await telemetryOf({ protocol, compression, headers });
    const traceparent = send(telemetry);
    expect(await telemetry.stop(5000)).toBe(true);
    expect(collector.exports).toMatchObject([{ path: '/v1/traces', headers: { 'x-api-key': 'key' } }]);
    const [span] = collector.spans;
    expect(`00-${span?.traceId}-${span?.spanId}-01`).toBe(traceparent);
    expect(span).toMatchObject({
      name: 'message webchat',
      attributes: { 'agentd.turn_id': 't1', 'agentd.channel': 'webchat', 'agentd.outcome': 'answered' },
      resource: { 'service.name': 'agentd' },
    });
  });

  it('are sent over TLS to a collector whose certificate is verified with the configured CA file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agentd-otlp-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const about = ['-days', '1', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync('openssl', [...made, ...about, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const server = createTlsServer(
      { key: readFileSync(key), cert: readFileSync(cert) },
      (_request, response) => {
        response.end();
      },
    ).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `https://127.0.0.1:${(server.address() as { port: number }).port}/v1/traces`;
    const none = { ca: undefined, cert: undefined, key: undefined };
    const trusting = await telemetryOf({ url, tls: { ...none, ca: cert } });
    send(trusting);
    expect(await trusting.stop(5000)).toBe(true);
    expect(trusting.logged.lines).toEqual([]);
    const other = await telemetryOf({ url, timeout_ms: 500 });
    send(other);
    await other.stop(5000);
    expect(other.logged.lines).toMatchObject([{ reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' }]);
  });

  it('that fail are logged once, and the first success after them is logged, too', async () => {
    const telemetry = await telemetryOf();
    collector.status = 400;
    for (let exports = 1; exports <= 3; exports++) {
      send(telemetry);
      await expect.poll(() => collector.exports.length).toBe(exports);
    }
    collector.status = 200;
    send(telemetry);
    await collector.span(() => true);
    await expect.poll(() => telemetry.logged.lines.length).toBe(2);
    expect(telemetry.logged.lines).toMatchObject([
      { level: 'warn', reason: '400', msg: expect.stringMatching(/^traces cannot be exported/) },
      { level: 'info', lost: 3, msg: 'traces are exported again' },
    ]);
  });

  it('to an unknown host delay neither the messages nor the start', async () => {
    const telemetry = await telemetryOf({ url: 'http://collector.invalid:4318/v1/traces', timeout_ms: 50 });
    for (let index = 0; index < 10; index++) send(telemetry);
    await expect.poll(() => telemetry.logged.lines.length).toBe(1);
  });

  it('leave out spans if too many spans wait', async () => {
    const batches = {
      maxQueueSize: 10,
      maxExportBatchSize: 10,
      scheduledDelayMillis: 60_000,
      exportTimeoutMillis: 1000,
    };
    const telemetry = await telemetryOf({ batches });
    for (let index = 0; index < 100; index++) send(telemetry);
    await telemetry.stop(5000);
    expect(collector.spans.length).toBeLessThanOrEqual(20);
  });

  it('are aborted when the time for stopping has passed', async () => {
    const silent = createServer(() => {});
    const port = await listenOnFreePort(silent);
    const telemetry = await telemetryOf({ url: `http://127.0.0.1:${port}/v1/traces` });
    send(telemetry);
    expect(await telemetry.stop(20)).toBe(false);
    silent.closeAllConnections();
    silent.close();
  });
});

describe('a span', () => {
  /** The exported spans of a message in which `work` runs. */
  async function spansOf(
    work: (trace: Trace) => void,
    options: Partial<TelemetryOptions> = {},
    outcome = 'answered',
  ) {
    const telemetry = await telemetryOf(options);
    const span = telemetry.observer.messageBegan(MESSAGE);
    work(new Trace(systemClock, [], span));
    span?.end(recordOf(outcome));
    expect(await telemetry.stop(5000)).toBe(true);
    return collector.spans;
  }

  it('has only the known details of its trace line, each with a limited length', async () => {
    const spans = await spansOf((trace) => {
      trace.enter('run-agent');
      const tool = trace.begin('tool');
      const request = tool.begin('downstream', { origin: 'https://api.example.com' });
      request.end({
        verdict: 'failed',
        reason: 'http_500',
        detail: {
          method: 'GET',
          path: '/users/ada@example.com',
          source: 's'.repeat(1000),
          status: 500,
          credentials: 'user',
        },
      });
      tool.end({ verdict: 'failed', reason: 'the person wrote: hello!', detail: { tool: 'look_up' } });
      trace.leave({ verdict: 'ok', reason: 'stopped', detail: { message: 'secret', why: 'other_person' } });
    });
    const [request, tool, step] = spans;
    expect(request).toMatchObject({ name: `GET ${'s'.repeat(128)}`, status: 2, kind: 3 });
    expect(request?.attributes).toEqual({
      'server.address': 'api.example.com',
      'server.port': 443,
      'http.request.method': 'GET',
      'http.response.status_code': 500,
      'agentd.source': 's'.repeat(128),
      'agentd.credentials': 'user',
      'agentd.verdict': 'failed',
      'agentd.reason': 'http_500',
      'error.type': '500',
    });
    expect(tool).toMatchObject({ name: 'execute_tool look_up', status: 2, kind: 1 });
    expect(tool?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look_up',
      'agentd.verdict': 'failed',
      'agentd.reason': '_OTHER',
      'error.type': '_OTHER',
    });
    expect(step?.attributes).toEqual({ 'agentd.verdict': 'ok', 'agentd.reason': 'stopped' });
    expect(collector.bytes.toString('latin1')).not.toMatch(/ada@example|hello|secret|other_person/);
  });

  it.each([
    ['agent_failed', 2],
    ['unavailable', 2],
    ['session_forbidden', 0],
    ['loop_guard_blocked', 0],
    ['replayed', 0],
  ])('of a message that ends with %s has the status %i', async (outcome, status) => {
    const spans = await spansOf(() => {}, {}, outcome);
    expect(spans).toMatchObject([{ status, attributes: { 'agentd.outcome': outcome } }]);
  });

  it('has the correct parent, even during simultaneous work', async () => {
    const spans = await spansOf((trace) => {
      trace.enter('run-agent');
      const [first, second] = [trace.begin('tool'), trace.begin('tool')];
      const requests = [second.begin('downstream'), first.begin('downstream')];
      for (const [index, request] of requests.entries())
        request.end({ verdict: 'ok', detail: { method: 'GET', source: `of-${index === 0 ? 'b' : 'a'}` } });
      first.end({ verdict: 'ok', detail: { tool: 'a' } });
      second.end({ verdict: 'ok', detail: { tool: 'b' } });
      trace.leave({ verdict: 'ok' });
    });
    const id = (name: string) => spans.find((span) => span.name === name)?.spanId;
    const parent = (name: string) => spans.find((span) => span.name === name)?.parentSpanId;
    expect([parent('GET of-a'), parent('GET of-b')]).toEqual([id('execute_tool a'), id('execute_tool b')]);
    expect([parent('execute_tool a'), parent('execute_tool b')]).toEqual([id('run-agent'), id('run-agent')]);
  });

  it('is not created for more lines than a trace can have', async () => {
    const spans = await spansOf((trace) => {
      for (let index = 0; index < 1000; index++)
        trace.begin('tool').end({ verdict: 'ok', detail: { tool: 'a' } });
    });
    expect(spans).toHaveLength(Trace.MAX_LINES + 1);
  });

  it('of a model call has the texts only if they are requested, and with a limited length', async () => {
    const call = (trace: Trace) => {
      const part = trace.begin('model', { provider: 'openai', max_output_tokens: 7 });
      part.content?.({
        input: [{ role: 'user', content: `${TOKEN} ${'canary '.repeat(10_000)}` }],
        output: `the answer ${TOKEN}`,
      });
      part.end({ verdict: 'ok', detail: { model: 'm', input_tokens: 1, output_tokens: 2 } });
    };
    const [without] = await spansOf(call);
    expect(without).toMatchObject({ name: 'chat m', kind: 3 });
    expect(without?.attributes).toEqual({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.max_tokens': 7,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.usage.input_tokens': 1,
      'gen_ai.usage.output_tokens': 2,
      'agentd.verdict': 'ok',
    });
    collector.spans.splice(0);
    const [withTexts] = await spansOf(call, { takesContent: true });
    expect(String(withTexts?.attributes['gen_ai.input.messages'])).toMatch(/^\[\{"role":"user"/);
    expect(String(withTexts?.attributes['gen_ai.input.messages'])).toHaveLength(32_768);
    expect(withTexts?.attributes['gen_ai.output.messages']).toContain('the answer [token]');
    expect(collector.bytes.toString('latin1')).not.toContain(TOKEN.slice(-20));
  });

  it('for an earlier event has the times of that event', async () => {
    const telemetry = await telemetryOf();
    const line: TraceLine = { at: 2000, step: 'identify', verdict: 'ok', took_ms: 500 };
    const span = telemetry.observer.messageBegan({ ...MESSAGE, began_at: 1500 });
    span?.past(line);
    span?.end(recordOf('answered'));
    await telemetry.stop(5000);
    expect(collector.spans).toMatchObject([
      { name: 'identify', start: 1_500_000_000n, end: 2_000_000_000n },
      { name: 'message webchat', start: 1_500_000_000n },
    ]);
  });
});
