import { beforeAll, describe, expect, it } from 'vitest';
import { type Canary, findCanaries, tokenCanaries } from '../support/canary.ts';
import { Collector, type SeenSpan } from '../support/collector.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { readAll, start } from '../support/event-stream.ts';
import { FakeModel } from '../support/fake-model.ts';
import { ADA, type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-telemetry(7) with a real daemon, and with a collector to which it exports.

const PARENT = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
const TRACEPARENT = `00-${PARENT.trace}-${PARENT.span}-01`;
const TEXT = 'canary-text-5b1e';
const ARGUMENT = 'canary-argument-3c7d';
const KEY = 'canary-key-91f0';

let collector: Collector;
let model: FakeModel;
let shop: Shop;
beforeAll(async () => {
  [collector, model] = await Promise.all([Collector.start(), FakeModel.start()]);
  // The model looks up the person, and then replies.
  model.script(({ messages }) => {
    const last = messages.at(-1);
    const usage = { prompt_tokens: last?.role === 'tool' ? 20 : 12, completion_tokens: 4 };
    if (last?.role === 'tool') return { text: [`Found: ${TEXT}`], usage };
    const args = String(last?.content).includes('wrongly') ? { [ARGUMENT]: ARGUMENT } : {};
    return { tools: [{ name: 'get_user', args }], usage };
  });
  shop = await startShop({
    env: {
      SSE_ENABLED: 'true',
      AGENT_MODEL: 'scripted',
      AGENT_BASE_URL: model.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${KEY}`,
      OTEL_SERVICE_NAME: 'shop-agent',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bench',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
  });
});

const messageOf = (turn: SeenSpan['attributes'][string] | undefined) => (span: SeenSpan) =>
  span.name.startsWith('message ') && span.attributes['agentd.turn_id'] === turn;

/** Returns the span of the last message of a session. */
async function spanOf(session_id: string): Promise<SeenSpan> {
  const { turns } = await shop.session(session_id);
  return collector.span(messageOf(turns.at(-1).turn_id));
}

describe('a message with a tool call', () => {
  let bearer: string;
  let message: SeenSpan;
  beforeAll(async () => {
    bearer = await token({ sub: ADA.id, email: ADA.email });
    const { body } = await shop.say(
      { message: `Who am I? ${TEXT}`, user_id: 'ada', session_id: 'telemetry-1' },
      { bearer, headers: { traceparent: TRACEPARENT, tracestate: `vendor=${TEXT}`, baggage: `k=${TEXT}` } },
    );
    expect(body.response).toContain('Found');
    message = await spanOf('telemetry-1');
  });

  it('is a tree of spans for its steps, the calls of the model and the tool, and the request to the API', () => {
    expect(collector.tree(PARENT.trace)).toEqual([
      'message webchat',
      '  identify',
      '  deduplicate',
      '  authorize-sender',
      '  guard',
      '  lock-session',
      '  open-session',
      '  resolve-principal',
      '  choose-agent',
      '  settle-pending',
      '  run-agent',
      '    chat scripted',
      '    execute_tool get_user',
      '      GET api',
      '    chat scripted',
      '  store-reply',
      '  send-reply',
    ]);
  });

  it('has the parent that its request names, and names the service', () => {
    expect(message).toMatchObject({
      traceId: PARENT.trace,
      parentSpanId: PARENT.span,
      kind: 2,
      status: 0,
      attributes: { 'agentd.channel': 'webchat', 'agentd.outcome': 'answered' },
      resource: {
        'service.name': 'shop-agent',
        'deployment.environment.name': 'test bench',
        'telemetry.sdk.language': 'nodejs',
      },
    });
    expect(collector.exports[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-api-key': KEY } });
  });

  it('can be found by its turn id, and its log lines by the trace id', async () => {
    const turn = String(message.attributes['agentd.turn_id']);
    expect((await shop.run('explain', turn)).stdout).toContain('telemetry-1');
    const logged = shop.daemon
      .log()
      .find(({ msg, session }) => msg === 'message answered' && session === 'telemetry-1');
    expect(logged?.trace_id).toBe(PARENT.trace);
  });

  it('passes the trace on to the API, and no other header of the client', () => {
    const request = shop.api.seen('/users').at(-1);
    const span = collector.spans.find(({ name }) => name === 'GET api');
    expect(request?.headers.traceparent).toBe(`00-${PARENT.trace}-${span?.spanId}-01`);
    expect(request?.headers).not.toHaveProperty('tracestate');
    expect(request?.headers).not.toHaveProperty('baggage');
    // The trace is not passed on to the model.
    expect(JSON.stringify(model.requests)).not.toContain(PARENT.trace);
  });

  it('has the credentials of a tool call as an event, and the address of the API', () => {
    const { hostname, port } = new URL(shop.api.url);
    const named = (name: string) => collector.spans.find((span) => span.name === name);
    expect(named('execute_tool get_user')?.events).toMatchObject([
      { name: 'credentials', attributes: { 'agentd.credentials': 'user', 'agentd.verdict': 'ok' } },
    ]);
    expect(named('GET api')?.attributes).toMatchObject({
      'server.address': hostname,
      'server.port': Number(port),
      'agentd.source': 'api',
    });
  });

  it('exports no token, text, query, argument, person or session', () => {
    const canaries: Canary[] = [
      ...tokenCanaries('token', bearer),
      { name: 'text', value: TEXT },
      { name: 'e-mail', value: ADA.email },
      { name: 'query', value: 'userEmail' },
      { name: 'person', value: ADA.id },
      { name: 'session', value: 'telemetry-1' },
      { name: 'header of the exports', value: KEY },
    ];
    expect(findCanaries(canaries, new Map([['exports', collector.bytes]]))).toEqual([]);
  });
});

describe('a tool call that fails', () => {
  it('reports the reason, but not the arguments', async () => {
    await shop.say({ message: 'Look me up wrongly.', user_id: 'ada', session_id: 'telemetry-4' });
    const message = await spanOf('telemetry-4');
    const span = collector.spans.find(
      ({ name, traceId }) => name.startsWith('execute_tool') && traceId === message.traceId,
    );
    expect(span).toMatchObject({ status: 2, attributes: { 'error.type': 'invalid_arguments' } });
    const canaries = [{ name: 'argument', value: ARGUMENT }];
    expect(findCanaries(canaries, new Map([['exports', collector.bytes]]))).toEqual([]);
  });
});

describe('a message on a stream', () => {
  it('is one span that begins with the first request, and has the parent that this request named', async () => {
    const trace = 'c'.repeat(32);
    const stream_id = await start(
      shop.daemon.url,
      { user_id: 'stream', message: 'Who am I?', session_id: 'telemetry-2' },
      { traceparent: `00-${trace}-${PARENT.span}-00` },
    );
    await readAll(shop.daemon.url, stream_id);
    const message = await spanOf('telemetry-2');
    expect(message.parentSpanId).toBe(PARENT.span);
    const [name, ...below] = collector.tree(trace);
    expect(name).toBe('message sse');
    expect(collector.tree(trace).filter((line) => !line.startsWith(' '))).toEqual(['message sse']);
    const steps = below.filter((line) => /^ {2}\S/.test(line)).map((line) => line.trim());
    // The test compares the sorted names, because the step times of the first request are whole milliseconds.
    const expected = [
      // Steps of the request that posted the message.
      'identify',
      'deduplicate',
      'authorize-sender',
      'find-action',
      'guard',
      // Steps of the request that opened the stream.
      'identify',
      'deduplicate',
      'authorize-sender',
      'guard',
      'lock-session',
      'open-session',
      'resolve-principal',
      'choose-agent',
      'settle-pending',
      'run-agent',
      'store-reply',
      'send-reply',
    ];
    expect(steps.toSorted()).toEqual(expected.toSorted());
    const identified = collector.spans.filter((one) => one.name === 'identify' && one.traceId === trace);
    for (const step of identified) expect(step.start).toBeGreaterThanOrEqual(message.start);
    expect(message.events.map(({ name }) => name)).toEqual(['open-stream']);
  });
});

describe('a message that is refused', () => {
  it('is a span in its own trace, and is not marked as an error if the client made the mistake', async () => {
    const before = collector.spans.length;
    const { status } = await shop.say({ message: 'x', user_id: 'mallory', session_id: 'telemetry-1' });
    expect(status).toBe(403);
    const span = await collector.span(
      (one) =>
        collector.spans.indexOf(one) >= before && one.attributes['agentd.outcome'] === 'session_forbidden',
    );
    expect(span).toMatchObject({ parentSpanId: '', status: 0 });
    expect(collector.tree(span.traceId)).toEqual([
      'message webchat',
      '  identify',
      '  deduplicate',
      '  authorize-sender',
    ]);
  });
});

describe('a stop', () => {
  it('exports the remaining spans within the grace period', async () => {
    const own = await Collector.start();
    const daemon = await startDaemonHere({
      env: {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${own.url}/ingest`,
        OTEL_BSP_SCHEDULE_DELAY: '600000',
      },
    });
    await post(daemon.url, { message: 'Hi', user_id: 'u' });
    expect(own.exports).toEqual([]);
    expect(await daemon.stop()).toBe(0);
    // Protobuf is the default encoding.
    expect(own.exports).toMatchObject([
      { path: '/ingest', headers: { 'content-type': 'application/x-protobuf' } },
    ]);
    expect(own.spans.map(({ name }) => name)).toContain('message webchat');
    expect(own.spans[0]?.resource).toMatchObject({ 'service.name': 'agentd' });
    await own.close();
  });
});
