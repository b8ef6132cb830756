import { randomUUID } from 'node:crypto';
import { version } from '../files/version.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';

/** The values of OTEL_EXPORTER_OTLP_PROTOCOL. */
export const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export const COMPRESSIONS = ['none', 'gzip'] as const;
/** The values of OTEL_TRACES_SAMPLER. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

/** How spans are collected and exported. */
export type TelemetryOptions = ReturnType<typeof telemetryOptions>;

type TelemetrySettings = Pick<Settings, Extract<keyof Settings, `OTEL_${string}`>>;

type Switches = Pick<
  TelemetrySettings,
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  | 'OTEL_TRACES_EXPORTER'
  | 'OTEL_SDK_DISABLED'
>;

export function exportsTraces(settings: Partial<Switches>): boolean {
  if (settings.OTEL_SDK_DISABLED === true || settings.OTEL_TRACES_EXPORTER === 'none') return false;
  return (
    settings.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined ||
    settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined
  );
}

/** Reads validated settings for which `exportsTraces` is true. */
export function telemetryOptions(settings: TelemetrySettings) {
  return {
    url: settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? belowEndpoint(settings.OTEL_EXPORTER_OTLP_ENDPOINT),
    protocol: (settings.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ??
      settings.OTEL_EXPORTER_OTLP_PROTOCOL) as (typeof PROTOCOLS)[number],
    headers: {
      ...parseHeaders(settings.OTEL_EXPORTER_OTLP_HEADERS),
      ...parseHeaders(settings.OTEL_EXPORTER_OTLP_TRACES_HEADERS),
    },
    timeout_ms: settings.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? settings.OTEL_EXPORTER_OTLP_TIMEOUT,
    compression: (settings.OTEL_EXPORTER_OTLP_TRACES_COMPRESSION ??
      settings.OTEL_EXPORTER_OTLP_COMPRESSION) as (typeof COMPRESSIONS)[number],
    /** Paths of PEM files. */
    tls: {
      ca: settings.OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE ?? settings.OTEL_EXPORTER_OTLP_CERTIFICATE,
      cert:
        settings.OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE ??
        settings.OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE,
      key: settings.OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY ?? settings.OTEL_EXPORTER_OTLP_CLIENT_KEY,
    },
    resource: buildResource(settings),
    sampler: settings.OTEL_TRACES_SAMPLER as SamplerName,
    sampler_ratio: settings.OTEL_TRACES_SAMPLER_ARG,
    batches: {
      maxQueueSize: settings.OTEL_BSP_MAX_QUEUE_SIZE,
      maxExportBatchSize: Math.min(settings.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, settings.OTEL_BSP_MAX_QUEUE_SIZE),
      scheduledDelayMillis: settings.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: settings.OTEL_BSP_EXPORT_TIMEOUT,
    },
    /** Whether `traceparent` is read from requests and sent to downstream systems. */
    propagates: settings.OTEL_PROPAGATORS.includes('tracecontext'),
    takesContent: settings.OTEL_GENAI_CAPTURE_CONTENT,
    version: version(),
  };
}

function belowEndpoint(endpoint = ''): string {
  return `${endpoint.replace(/\/+$/, '')}/v1/traces`;
}

/** Header names are case-insensitive, so they are stored in lower case. */
function parseHeaders(text: Secret | undefined): Record<string, Secret> {
  const pairs = text === undefined ? [] : (parsePairs(text.reveal()) ?? []);
  return Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), new Secret(value)]));
}

/** Attributes that all spans share. */
function buildResource({
  OTEL_SERVICE_NAME,
  OTEL_RESOURCE_ATTRIBUTES = '',
}: TelemetrySettings): Readonly<Record<string, string>> {
  return {
    'service.name': 'agentd',
    'service.version': version(),
    'service.instance.id': randomUUID(),
    ...Object.fromEntries(parsePairs(OTEL_RESOURCE_ATTRIBUTES) ?? []),
    ...(OTEL_SERVICE_NAME === undefined ? {} : { 'service.name': OTEL_SERVICE_NAME }),
  };
}

/**
 * Reads a list `name=value,name=value`, the form of OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES. Names and
 * values may be percent-encoded.
 * @returns null if the text is not of that form.
 */
export function parsePairs(text: string): (readonly [name: string, value: string])[] | null {
  const pairs: (readonly [string, string])[] = [];
  for (const item of text.split(',')) {
    if (item.trim() === '') continue;
    const end = item.indexOf('=');
    const name = item.slice(0, end).trim();
    if (end < 1 || name === '') return null;
    try {
      pairs.push([decodeURIComponent(name), decodeURIComponent(item.slice(end + 1).trim())]);
    } catch {
      return null;
    }
  }
  return pairs;
}
