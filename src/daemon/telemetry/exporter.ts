import { readFile } from 'node:fs/promises';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { TelemetryOptions } from './telemetry-options.ts';

type OtlpConfig = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>;

export async function createExporter({
  url,
  protocol,
  headers,
  timeout_ms,
  compression,
  tls,
}: TelemetryOptions): Promise<SpanExporter> {
  const { OTLPTraceExporter: Exporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  const files = Object.entries(tls).flatMap(([name, path]) => (path === undefined ? [] : [{ name, path }]));
  const pem = await Promise.all(files.map(async ({ name, path }) => [name, await readFile(path)] as const));
  return new Exporter({
    url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
    timeoutMillis: timeout_ms,
    httpAgentOptions: { keepAlive: true, ...Object.fromEntries(pem) },
    compression: compression as NonNullable<OtlpConfig['compression']>,
  });
}
