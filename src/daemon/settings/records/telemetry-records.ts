import { decimal, flag, integer, list, text, url } from './record.ts';

/** OpenTelemetry: the standard OTEL_* settings that the daemon reads. */
export const TELEMETRY_RECORDS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url(
    { example: 'http://localhost:4318' },
    'Address of an OpenTelemetry collector. Traces are exported to `/v1/traces` below it; see agentd-telemetry(7). If neither this nor OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, nothing is exported.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url(
    { example: 'http://localhost:4318/v1/traces' },
    'Full address that traces are exported to; overrides OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: text(
    { default: 'http/protobuf' },
    'Encoding of exports: `http/protobuf` or `http/json`.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: text(
    { example: 'http/json' },
    'Encoding of exported traces; overrides OTEL_EXPORTER_OTLP_PROTOCOL.',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: text(
    { secret: true },
    'Headers of exports, often an API key: `name=value` pairs separated by commas; values may be percent-encoded.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: text(
    { secret: true },
    'Headers of exported traces, in the same form; each overrides the header of the same name in OTEL_EXPORTER_OTLP_HEADERS.',
  ),
  OTEL_EXPORTER_OTLP_TIMEOUT: integer(
    { min: 1, max: 600_000, default: 10_000, unit: 'milliseconds' },
    'Time limit of one export, including retries.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: integer(
    { min: 1, max: 600_000, unit: 'milliseconds', example: '5000' },
    'Time limit of one export of traces; overrides OTEL_EXPORTER_OTLP_TIMEOUT.',
  ),
  OTEL_EXPORTER_OTLP_COMPRESSION: text({ default: 'none' }, 'Compression of exports: `gzip` or `none`.'),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: text(
    { example: 'gzip' },
    'Compression of exported traces; overrides OTEL_EXPORTER_OTLP_COMPRESSION.',
  ),
  OTEL_EXPORTER_OTLP_CERTIFICATE: text(
    'PEM file with the CA certificates for the TLS connection to the collector.',
  ),
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: text(
    'PEM file with the client certificate of the daemon, for a collector that requires one.',
  ),
  OTEL_EXPORTER_OTLP_CLIENT_KEY: text(
    'PEM file with the private key of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: text(
    'PEM file with the CA certificates for the export of traces; overrides OTEL_EXPORTER_OTLP_CERTIFICATE.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: text(
    'PEM file with the client certificate for the export of traces; overrides OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: text(
    'PEM file with the private key for the export of traces; overrides OTEL_EXPORTER_OTLP_CLIENT_KEY.',
  ),
  OTEL_SERVICE_NAME: text(
    { example: 'shop-agent' },
    'Name of the service in traces. Default: `service.name` of OTEL_RESOURCE_ATTRIBUTES, or `agentd` if that is not set.',
  ),
  OTEL_RESOURCE_ATTRIBUTES: text(
    { example: 'deployment.environment.name=production' },
    'Attributes of all traces: `name=value` pairs separated by commas; values may be percent-encoded.',
  ),
  OTEL_TRACES_SAMPLER: text(
    { default: 'parentbased_always_on' },
    'Which messages are traced: `always_on`, `always_off`, `traceidratio`, or one of these with the prefix `parentbased_`. With the prefix, the decision of the parent is followed if the sender is authenticated.',
  ),
  OTEL_TRACES_SAMPLER_ARG: decimal(
    { min: 0, max: 1, default: 1 },
    'Fraction of the messages that `traceidratio` samples.',
  ),
  OTEL_TRACES_EXPORTER: text({ default: 'otlp' }, '`otlp` or `none`; `none` turns traces off.'),
  OTEL_SDK_DISABLED: flag({ default: false }, 'true turns traces off.'),
  OTEL_PROPAGATORS: list(
    { default: ['tracecontext'] },
    'If the list contains `tracecontext`, the daemon continues the trace in the `traceparent` header of a request, and sends the header to the systems that tools call. Other values have no effect.',
  ),
  OTEL_BSP_MAX_QUEUE_SIZE: integer(
    { min: 1, max: 1_000_000, default: 2048 },
    'Maximum number of spans that wait for an export; more are dropped.',
  ),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: integer(
    { min: 1, max: 1_000_000, default: 512 },
    'Maximum number of spans in one export.',
  ),
  OTEL_BSP_SCHEDULE_DELAY: integer(
    { min: 1, max: 600_000, default: 5000, unit: 'milliseconds' },
    'Time between two exports.',
  ),
  OTEL_BSP_EXPORT_TIMEOUT: integer(
    { min: 1, max: 600_000, default: 30_000, unit: 'milliseconds' },
    'Time after which an export counts as failed.',
  ),
  OTEL_GENAI_CAPTURE_CONTENT: flag(
    { default: false },
    'Exports the texts of model calls: everything that people write, and all results of tools.',
  ),
};
