import { readFile } from 'node:fs/promises';
import { type Context, createContextKey, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  type Sampler,
  type SamplingResult,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { Log } from '../process/log.ts';
import { revealAll } from '../settings/secret.ts';
import type { SamplerName, TelemetryOptions } from './telemetry-options.ts';

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
    headers: revealAll(headers),
    timeoutMillis: timeout_ms,
    httpAgentOptions: { keepAlive: true, ...Object.fromEntries(pem) },
    compression: compression as NonNullable<OtlpConfig['compression']>,
  });
}

/** Wraps an exporter. Logs the first failure of a series, and the first success after the series. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  #lost = 0;

  constructor(exporter: SpanExporter, log: Pick<Log, 'info' | 'warn'>) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result, spans.length);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #report({ code, error }: ExportResult, spans: number): void {
    if (code === ExportResultCode.SUCCESS) {
      if (this.#lost > 0) this.#log.info({ lost: this.#lost }, 'traces are exported again');
      this.#lost = 0;
      return;
    }
    // The response of a collector may quote the request, so only the error's code or the beginning of its message is
    // logged.
    if (this.#lost === 0)
      this.#log.warn(
        { reason: describeError(error) },
        'traces cannot be exported; they are dropped until the collector answers',
      );
    this.#lost += spans;
  }
}

function describeError(error: (Error & { code?: unknown }) | undefined): string {
  if (error === undefined) return 'unknown';
  const { code } = error;
  return code === undefined || code === '' ? error.message.slice(0, 100) : `${code}`;
}

/** Marks the context of a message if its sender may influence the sampler. */
const HEEDED = createContextKey('agentd: the sampled flag of the remote parent counts');

export function heedParent(context: Context): Context {
  return context.setValue(HEEDED, true);
}

/**
 * Creates the sampler that OTEL_TRACES_SAMPLER names. For an unauthenticated sender it ignores the sampled flag and the
 * trace id of the parent: otherwise the sender could force or prevent the sampling of all its messages. The spans
 * within a message are sampled if the message is.
 */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const configured = buildSampler(name, ratio);
  const ids = new RandomIdGenerator();
  const forMessages: Sampler = {
    shouldSample(context, traceId, ...about): SamplingResult {
      const parent = trace.getSpanContext(context);
      return parent === undefined || context.getValue(HEEDED) === true
        ? configured.shouldSample(context, traceId, ...about)
        : configured.shouldSample(ROOT_CONTEXT, ids.generateTraceId(), ...about);
    },
    toString: () => configured.toString(),
  };
  return new ParentBasedSampler({
    root: forMessages,
    remoteParentSampled: forMessages,
    remoteParentNotSampled: forMessages,
  });
}

function buildSampler(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}
