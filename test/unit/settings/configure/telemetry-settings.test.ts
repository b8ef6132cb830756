import { describe, expect, it } from 'vitest';
import { ConfigurationError, configure } from '../../../../src/daemon/settings/configure/configure.ts';
import { exportsTraces, telemetryOptions } from '../../../../src/daemon/telemetry/telemetry-options.ts';
import { placeWith, VALID } from '../place.ts';

// agentd-telemetry(7).

const ON = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

const configured = (env: Record<string, string>) => configure(placeWith({ ...VALID, ...env }));

async function refused(env: Record<string, string>): Promise<string[]> {
  const error = await configured(env).then(
    () => expect.unreachable('the configuration was accepted'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigurationError);
  return (error as ConfigurationError).problems.map(({ setting, problem }) => `${setting} ${problem}`);
}

async function optionsOf(env: Record<string, string>) {
  return telemetryOptions((await configured({ ...ON, ...env })).settings);
}

describe('the export of traces', () => {
  it.each<[Record<string, string>, boolean]>([
    [{}, false],
    [{ OTEL_SERVICE_NAME: 'shop' }, false],
    [ON, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/traces' }, true],
    [{ ...ON, OTEL_SDK_DISABLED: 'true' }, false],
    [{ ...ON, OTEL_TRACES_EXPORTER: 'none' }, false],
  ])('is on with %o: %s', async (env, exported) => {
    expect(exportsTraces((await configured(env)).settings)).toBe(exported);
  });
});

describe('the settings of OpenTelemetry', () => {
  it('have the defaults of the OpenTelemetry specification', async () => {
    expect(await optionsOf({})).toMatchObject({
      url: 'http://127.0.0.1:4318/v1/traces',
      protocol: 'http/protobuf',
      headers: {},
      timeout_ms: 10_000,
      compression: 'none',
      resource: { 'service.name': 'agentd' },
      sampler: 'parentbased_always_on',
      batches: {
        maxQueueSize: 2048,
        maxExportBatchSize: 512,
        scheduledDelayMillis: 5000,
        exportTimeoutMillis: 30_000,
      },
      propagates: true,
      takesContent: false,
    });
  });

  it('take precedence over general settings if they are for traces, and their address is used unchanged', async () => {
    const { url, protocol, headers, timeout_ms, compression } = await optionsOf({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/ingest',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'X-Api-Key=all, x-tenant=a%2Cb',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-api-key=traces',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
    });
    expect([url, protocol, timeout_ms, compression]).toEqual([
      'http://127.0.0.1:4318/ingest',
      'http/json',
      2000,
      'gzip',
    ]);
    const revealed = Object.entries(headers).map(([name, value]) => [name, value.reveal()]);
    expect(Object.fromEntries(revealed)).toEqual({ 'x-api-key': 'traces', 'x-tenant': 'a,b' });
  });

  it('name the service by OTEL_SERVICE_NAME, or otherwise by the attribute service.name', async () => {
    const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=of-attributes,team=a%20b' };
    expect((await optionsOf(attributes)).resource).toMatchObject({
      'service.name': 'of-attributes',
      team: 'a b',
    });
    const { resource } = await optionsOf({ ...attributes, OTEL_SERVICE_NAME: 'shop' });
    expect(resource).toMatchObject({ 'service.name': 'shop', team: 'a b' });
  });

  it('turn propagation off if OTEL_PROPAGATORS does not include tracecontext', async () => {
    expect((await optionsOf({ OTEL_PROPAGATORS: 'b3,baggage' })).propagates).toBe(false);
    expect((await optionsOf({ OTEL_PROPAGATORS: 'baggage,tracecontext' })).propagates).toBe(true);
  });

  it.each<[Record<string, string>, string]>([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL is not one of the known values'],
    [{ OTEL_TRACES_SAMPLER: 'xray' }, 'OTEL_TRACES_SAMPLER is not one of the known values'],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER is not one of the known values'],
    [
      { OTEL_EXPORTER_OTLP_COMPRESSION: 'zip' },
      'OTEL_EXPORTER_OTLP_COMPRESSION is not one of the known values',
    ],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'no pair' }, 'OTEL_RESOURCE_ATTRIBUTES does not have the right form'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'x=%zz' }, 'OTEL_EXPORTER_OTLP_HEADERS does not have the right form'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'x y=1' }, 'OTEL_EXPORTER_OTLP_HEADERS does not have the right form'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'x=1%0a2' }, 'OTEL_EXPORTER_OTLP_HEADERS does not have the right form'],
    [
      { OTEL_EXPORTER_OTLP_CERTIFICATE: 'none.pem' },
      'OTEL_EXPORTER_OTLP_CERTIFICATE is not the path of a file',
    ],
  ])('are refused if agentd cannot apply them: %o', async (env, problem) => {
    expect(await refused({ ...ON, ...env })).toEqual([problem]);
    // If traces are not exported, the variables are accepted: they may be meant for another program.
    await configured(env);
  });

  it('cause a warning if traces contain texts', async () => {
    const { warnings } = await configured({ ...ON, OTEL_GENAI_CAPTURE_CONTENT: 'true' });
    expect(warnings).toEqual([
      expect.stringMatching(/^OTEL_GENAI_CAPTURE_CONTENT: traces contain the texts/),
    ]);
  });

  it.each([
    [
      'http://collector.internal:4318',
      ['OTEL_EXPORTER_OTLP_HEADERS: the headers are sent to collector.internal unencrypted'],
    ],
    ['https://collector.internal:4318', []],
    ['http://127.0.0.1:4318', []],
  ])(
    'cause a warning in production if headers are sent unencrypted, which depends on the address: %s',
    async (endpoint, warned) => {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'x=1' };
      const { warnings } = await configured({ ...env, NODE_ENV: 'production' });
      expect(warnings.filter((warning) => warning.startsWith('OTEL_'))).toEqual(warned);
      const { warnings: without } = await configured(env);
      expect(without).toEqual([]);
    },
  );

  it('are shown without header values, which may contain a key', async () => {
    const { effective } = await configured({ ...ON, OTEL_EXPORTER_OTLP_HEADERS: 'x=canary' });
    expect(JSON.stringify(effective)).not.toContain('canary');
  });
});

describe('other standard settings of OpenTelemetry', () => {
  const signals = ['METRICS', 'LOGS', 'PROFILES'];
  const ofOtlp = ['ENDPOINT', 'PROTOCOL', 'HEADERS', 'TIMEOUT', 'COMPRESSION', 'INSECURE', 'CERTIFICATE'];
  const names = [
    ...signals.flatMap((signal) => ofOtlp.map((name) => `OTEL_EXPORTER_OTLP_${signal}_${name}`)),
    ...signals.map((signal) => `OTEL_${signal}_EXPORTER`),
    ...['SCHEDULE_DELAY', 'EXPORT_TIMEOUT', 'MAX_QUEUE_SIZE', 'MAX_EXPORT_BATCH_SIZE'].map(
      (name) => `OTEL_BLRP_${name}`,
    ),
    'OTEL_EXPORTER_OTLP_INSECURE',
    'OTEL_LOG_LEVEL',
    'OTEL_NODE_RESOURCE_DETECTORS',
    'OTEL_METRIC_EXPORT_INTERVAL',
    'OTEL_METRICS_EXEMPLAR_FILTER',
    'OTEL_ATTRIBUTE_COUNT_LIMIT',
    'OTEL_SPAN_EVENT_COUNT_LIMIT',
    'OTEL_CONFIG_FILE',
  ];

  it.each(names)('are not treated as misspelled settings of agentd: %s', async (name) => {
    await expect(configured({ [name]: 'anything' })).resolves.toBeDefined();
  });

  it('do not prevent the report of a misspelled setting', async () => {
    expect(await refused({ OTEL_EXPORTER_OTLP_ENDPONT: 'http://127.0.0.1:4318' })).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPONT is not a setting, but looks like OTEL_EXPORTER_OTLP_ENDPOINT',
    ]);
  });
});
