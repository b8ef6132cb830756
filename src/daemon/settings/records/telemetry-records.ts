import type { SettingRecord } from '../../../channel/index.ts';

/** OpenTelemetry: the standard OTEL_* settings that the daemon reads. */
export const TELEMETRY_RECORDS = [
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: 'url',
    sentence:
      'Address of an OpenTelemetry collector: traces are exported to `/v1/traces` below it. Unset, as is OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: there are no traces. See agentd-telemetry(7).',
    example: 'http://localhost:4318',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    kind: 'url',
    sentence: 'Whole address that traces are exported to; takes precedence over OTEL_EXPORTER_OTLP_ENDPOINT.',
    example: 'http://localhost:4318/v1/traces',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    kind: 'string',
    default: 'http/protobuf',
    sentence: 'How exports are encoded: `http/protobuf` or `http/json`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    kind: 'string',
    sentence: 'How exported traces are encoded; unset, as OTEL_EXPORTER_OTLP_PROTOCOL.',
    example: 'http/json',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    kind: 'string',
    secret: true,
    sentence:
      'Headers of exports: `name=value`, comma-separated, values percent-encoded. They often hold a key.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    kind: 'string',
    secret: true,
    sentence:
      'Headers of exported traces, in the same form; each replaces one of OTEL_EXPORTER_OTLP_HEADERS with the same name.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 10_000,
    unit: 'milliseconds',
    sentence: 'Time for one export, repeats included.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    kind: 'string',
    default: 'none',
    sentence: 'How exports are compressed: `gzip` or `none`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    kind: 'string',
    sentence: 'File with the certificates, as PEM, that the certificate of the collector is checked against.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    kind: 'string',
    sentence: 'File with the certificate, as PEM, that the daemon shows to the collector.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    kind: 'string',
    sentence: 'File with the key of that certificate, as PEM.',
  },
  {
    name: 'OTEL_SERVICE_NAME',
    kind: 'string',
    sentence:
      'Name of the service in traces; unset, `service.name` of OTEL_RESOURCE_ATTRIBUTES, else `agentd`.',
    example: 'shop-agent',
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    kind: 'string',
    sentence: 'Attributes of all traces: `name=value`, comma-separated, values percent-encoded.',
    example: 'deployment.environment.name=production',
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    kind: 'string',
    default: 'parentbased_always_on',
    sentence:
      'Which messages are traced: `always_on`, `always_off`, `traceidratio`, or `parentbased_` before one of these, which follows the parent of the message if its sender is authenticated.',
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    kind: 'number',
    min: 0,
    max: 1,
    default: 1,
    sentence: 'Share of the messages that `traceidratio` samples.',
  },
  {
    name: 'OTEL_TRACES_EXPORTER',
    kind: 'string',
    default: 'otlp',
    sentence: '`none` turns traces off, whatever the other settings say.',
  },
  {
    name: 'OTEL_SDK_DISABLED',
    kind: 'boolean',
    default: false,
    sentence: 'true turns traces off, whatever the other settings say.',
  },
  {
    name: 'OTEL_PROPAGATORS',
    kind: 'list',
    default: ['tracecontext'],
    sentence:
      'With `tracecontext` in the list, `traceparent` of requests is taken up and passed on to the systems that tools call. Other values have no effect.',
  },
  {
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 2048,
    sentence: 'Spans that wait for an export; more are dropped.',
  },
  {
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 512,
    sentence: 'Spans in one export, at most.',
  },
  {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 5000,
    unit: 'milliseconds',
    sentence: 'How long a span waits for others before they are exported.',
  },
  {
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 30_000,
    unit: 'milliseconds',
    sentence: 'After this time an export counts as failed.',
  },
  {
    name: 'OTEL_GENAI_CAPTURE_CONTENT',
    kind: 'boolean',
    default: false,
    sentence:
      'Exports with each model call what the model was sent and what it answered: everything that people wrote, and all results of tools.',
  },
] as const satisfies readonly SettingRecord[];
