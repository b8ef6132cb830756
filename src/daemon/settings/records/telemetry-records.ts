import type { SettingRecord } from '../../../channel/index.ts';

/** OpenTelemetry: the standard OTEL_* settings that the daemon reads. */
export const TELEMETRY_RECORDS = [
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: 'url',
    sentence:
      'Address of an OpenTelemetry collector. Traces are exported to `/v1/traces` below it; see agentd-telemetry(7). If neither this nor OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, nothing is exported.',
    example: 'http://localhost:4318',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    kind: 'url',
    sentence: 'Full address that traces are exported to; overrides OTEL_EXPORTER_OTLP_ENDPOINT.',
    example: 'http://localhost:4318/v1/traces',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    kind: 'string',
    default: 'http/protobuf',
    sentence: 'Encoding of exports: `http/protobuf` or `http/json`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    kind: 'string',
    sentence: 'Encoding of exported traces; overrides OTEL_EXPORTER_OTLP_PROTOCOL.',
    example: 'http/json',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    kind: 'string',
    secret: true,
    sentence:
      'Headers of exports, often an API key: `name=value` pairs separated by commas; values may be percent-encoded.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    kind: 'string',
    secret: true,
    sentence:
      'Headers of exported traces, in the same form; each overrides the header of the same name in OTEL_EXPORTER_OTLP_HEADERS.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 10_000,
    unit: 'milliseconds',
    sentence: 'Time limit of one export, including retries.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
    kind: 'integer',
    min: 1,
    max: 600_000,
    unit: 'milliseconds',
    sentence: 'Time limit of one export of traces; overrides OTEL_EXPORTER_OTLP_TIMEOUT.',
    example: '5000',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    kind: 'string',
    default: 'none',
    sentence: 'Compression of exports: `gzip` or `none`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_COMPRESSION',
    kind: 'string',
    sentence: 'Compression of exported traces; overrides OTEL_EXPORTER_OTLP_COMPRESSION.',
    example: 'gzip',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    kind: 'string',
    sentence: 'PEM file with the CA certificates for the TLS connection to the collector.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    kind: 'string',
    sentence: 'PEM file with the client certificate of the daemon, for a collector that requires one.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    kind: 'string',
    sentence: 'PEM file with the private key of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
    kind: 'string',
    sentence:
      'PEM file with the CA certificates for the export of traces; overrides OTEL_EXPORTER_OTLP_CERTIFICATE.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE',
    kind: 'string',
    sentence:
      'PEM file with the client certificate for the export of traces; overrides OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY',
    kind: 'string',
    sentence:
      'PEM file with the private key for the export of traces; overrides OTEL_EXPORTER_OTLP_CLIENT_KEY.',
  },
  {
    name: 'OTEL_SERVICE_NAME',
    kind: 'string',
    sentence:
      'Name of the service in traces. Default: `service.name` of OTEL_RESOURCE_ATTRIBUTES, or `agentd` if that is not set.',
    example: 'shop-agent',
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    kind: 'string',
    sentence:
      'Attributes of all traces: `name=value` pairs separated by commas; values may be percent-encoded.',
    example: 'deployment.environment.name=production',
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    kind: 'string',
    default: 'parentbased_always_on',
    sentence:
      'Which messages are traced: `always_on`, `always_off`, `traceidratio`, or one of these with the prefix `parentbased_`. With the prefix, the decision of the parent is followed if the sender is authenticated.',
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    kind: 'number',
    min: 0,
    max: 1,
    default: 1,
    sentence: 'Fraction of the messages that `traceidratio` samples.',
  },
  {
    name: 'OTEL_TRACES_EXPORTER',
    kind: 'string',
    default: 'otlp',
    sentence: '`otlp` or `none`; `none` turns traces off.',
  },
  {
    name: 'OTEL_SDK_DISABLED',
    kind: 'boolean',
    default: false,
    sentence: 'true turns traces off.',
  },
  {
    name: 'OTEL_PROPAGATORS',
    kind: 'list',
    default: ['tracecontext'],
    sentence:
      'If the list contains `tracecontext`, the daemon continues the trace in the `traceparent` header of a request, and sends the header to the systems that tools call. Other values have no effect.',
  },
  {
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 2048,
    sentence: 'Maximum number of spans that wait for an export; more are dropped.',
  },
  {
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 512,
    sentence: 'Maximum number of spans in one export.',
  },
  {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 5000,
    unit: 'milliseconds',
    sentence: 'Time between two exports.',
  },
  {
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    kind: 'integer',
    min: 1,
    max: 600_000,
    default: 30_000,
    unit: 'milliseconds',
    sentence: 'Time after which an export counts as failed.',
  },
  {
    name: 'OTEL_GENAI_CAPTURE_CONTENT',
    kind: 'boolean',
    default: false,
    sentence: 'Exports the texts of model calls: everything that people write, and all results of tools.',
  },
] as const satisfies readonly SettingRecord[];
