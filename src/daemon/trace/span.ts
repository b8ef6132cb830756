import type { TraceLine, TraceRecord } from './trace-record.ts';

/** Something that can contain spans: a message, a step, or a call (agentd-telemetry(7)). No method throws or waits. */
export interface SpanScope {
  /** The `traceparent` header for requests within this scope. Null: no header is sent. */
  readonly traceparent: string | null;
  /** Starts a span within this scope. */
  child(step: string, about?: SpanSubject): Span;
  /** Records an event, which has no duration. */
  event(line: TraceLine): void;
}

/** A step, a tool call, a model call or a request. */
export interface Span extends SpanScope {
  /** Exports the texts of a model call. Null unless OTEL_GENAI_CAPTURE_CONTENT is set. */
  readonly content: ((content: ModelContent) => void) | null;
  end(line: TraceLine): void;
}

export interface MessageSpan extends SpanScope {
  /** Records a line of the trace that is older than the span. */
  past(line: TraceLine): void;
  end(record: TraceRecord): void;
}

/** The attributes of a span that are known at its start and are not part of its trace line. */
export interface SpanSubject {
  /** The origin that a request is sent to. */
  origin?: string;
  /** The provider of the model, for example `openai`. */
  provider?: string | undefined;
  max_output_tokens?: number | undefined;
}

export interface ModelContent {
  /** The messages that the model received. They are exported as JSON. */
  input: unknown;
  output: string;
}

/** A message that the daemon begins to process. */
export interface BegunMessage {
  turn_id: string;
  channel: string;
  /** Whether the reply is sent later, and not in the response to the request that delivered the message. */
  is_later: boolean;
  /** From `Observer.readParent`. Null: the message starts a new OpenTelemetry trace. */
  parent: string | null;
  /** Whether the request had a valid user token, or a platform signed the message. */
  is_authenticated: boolean;
  /** When the span starts, ms since the epoch. Null: now. */
  began_at: number | null;
}
