import {
  type Context,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ERRORS, type ErrorCode } from '../errors.ts';
import type { Log } from '../process/log.ts';
import { within } from '../time/time-limit.ts';
import { NO_OBSERVER, type Observer } from '../trace/observer.ts';
import type { BegunMessage, MessageSpan, Span, SpanSubject } from '../trace/span.ts';
import type { TraceLine, TraceRecord } from '../trace/trace-record.ts';
import { createExporter, createSampler, heedParent, ReportingExporter } from './exporter.ts';
import {
  contentAttributes,
  formatSpanName,
  messageAttributes,
  outcomeAttributes,
  subjectAttributes,
  toAttributes,
} from './span-attributes.ts';
import type { TelemetryOptions } from './telemetry-options.ts';

/** Longest `traceparent` header that is read, characters. A longer one is ignored. */
const TRACEPARENT_MAX = 256;
/** Steps that wait for another system. */
const CLIENT_STEPS: readonly string[] = ['downstream', 'model'];

/** Collects spans of messages, and exports them (agentd-telemetry(7)). */
export interface Telemetry {
  readonly observer: Observer;
  /** Exports the remaining spans. @returns false if this fails or takes longer than `ms`. Never rejects. */
  stop(ms: number): Promise<boolean>;
}

interface SpanParts {
  tracer: Tracer;
  /** See `TelemetryOptions`. */
  propagates: boolean;
  takesContent: boolean;
}

/** Creates the collector of spans. It opens no connection before the first export. */
export async function createTelemetry(options: TelemetryOptions, log: Log): Promise<Telemetry> {
  const exporter = new ReportingExporter(await createExporter(options), log);
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ ...options.resource })),
    sampler: createSampler(options.sampler, options.sampler_ratio),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...options.batches })],
  });
  const { propagates, takesContent } = options;
  const parts = { tracer: provider.getTracer('agentd', options.version), propagates, takesContent };
  return {
    observer: {
      ...NO_OBSERVER,
      readParent: (traceparent) => (propagates ? parseParent(traceparent) : null),
      messageBegan: (message) => messageSpan(message, parts),
    },
    stop: (ms) => shutdownWithin(provider, ms),
  };
}

/**
 * The parent that a `traceparent` header names (W3C Trace Context); null if it names none. `tracestate` and `baggage`
 * are ignored, since any client can set them.
 */
function parseParent(traceparent: string | undefined): string | null {
  if (traceparent === undefined || traceparent.length > TRACEPARENT_MAX) return null;
  const parent = parseTraceParent(traceparent);
  return parent === null ? null : formatTraceparent(parent);
}

function formatTraceparent(span: { traceId: string; spanId: string; traceFlags: number }): string {
  const isSampled = (span.traceFlags & TraceFlags.SAMPLED) !== 0;
  return `00-${span.traceId}-${span.spanId}-${isSampled ? '01' : '00'}`;
}

function messageSpan(message: BegunMessage, parts: SpanParts): MessageSpan {
  const parent = message.parent === null ? null : parseTraceParent(message.parent);
  let context = parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
  if (message.is_authenticated) context = heedParent(context);
  const span = parts.tracer.startSpan(
    `message ${message.channel}`,
    {
      kind: message.is_later ? SpanKind.CONSUMER : SpanKind.SERVER,
      attributes: messageAttributes(message),
      ...(message.began_at === null ? {} : { startTime: new Date(message.began_at) }),
    },
    context,
  );
  return new CollectedMessage(span, parts);
}

/** The common part of the span of a message and the spans within it. */
class Collected {
  readonly traceparent: string | null;
  protected readonly span: SdkSpan;
  readonly #parts: SpanParts;
  #context: Context | undefined;

  constructor(span: SdkSpan, parts: SpanParts) {
    this.span = span;
    this.#parts = parts;
    this.traceparent = parts.propagates ? formatTraceparent(span.spanContext()) : null;
  }

  child(step: string, about?: SpanSubject): Span {
    return this.begin(step, about);
  }

  event(line: TraceLine): void {
    if (this.span.isRecording()) this.span.addEvent(line.step, toAttributes(line));
  }

  /** @param startTime default: now. */
  protected begin(step: string, about?: SpanSubject, startTime?: Date): CollectedSpan {
    // If the message is not sampled, it has no inner spans: all its requests name the span of the message as their
    // parent.
    if (!this.span.isRecording()) return new CollectedSpan(this.span, this.#parts);
    const kind = CLIENT_STEPS.includes(step) ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const attributes = subjectAttributes(about);
    this.#context ??= trace.setSpan(ROOT_CONTEXT, this.span);
    const options = { kind, attributes, ...(startTime === undefined ? {} : { startTime }) };
    return new CollectedSpan(this.#parts.tracer.startSpan(step, options, this.#context), this.#parts);
  }
}

class CollectedSpan extends Collected implements Span {
  readonly content: Span['content'];

  constructor(span: SdkSpan, parts: SpanParts) {
    super(span, parts);
    this.content =
      parts.takesContent && span.isRecording()
        ? (content) => void span.setAttributes(contentAttributes(content))
        : null;
  }

  /** @param endTime default: now. */
  end(line: TraceLine, endTime?: Date): void {
    if (this.span.isRecording()) {
      this.span.updateName(formatSpanName(line)).setAttributes(toAttributes(line));
      if (line.verdict === 'failed') this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span.end(endTime);
  }
}

class CollectedMessage extends Collected implements MessageSpan {
  past(line: TraceLine): void {
    if (line.took_ms === undefined) this.event(line);
    else this.begin(line.step, undefined, new Date(line.at - line.took_ms)).end(line, new Date(line.at));
  }

  end(record: TraceRecord): void {
    this.span.setAttributes(outcomeAttributes(record));
    if (isFailure(record.outcome)) this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
  }
}

/** A mistake of a client and a block by the loop guard are not errors of the daemon. */
function isFailure(outcome: string): boolean {
  if (outcome === 'answered' || outcome === 'replayed') return false;
  return !(outcome in ERRORS) || ERRORS[outcome as ErrorCode].status >= 500;
}

function shutdownWithin(provider: TracerProvider, ms: number): Promise<boolean> {
  const flushed = provider.shutdown().then(
    () => true,
    () => false,
  );
  return within(flushed, ms, () => false);
}
