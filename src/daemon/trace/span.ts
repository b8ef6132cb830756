import type { TraceLine, TraceRecord } from './trace-record.ts';

/** Within what something happens that spans are made of (agentd-telemetry(7)). No method throws or waits. */
export interface SpanScope {
  /** Value of the header `traceparent` of requests that are made here; null: none is sent. */
  readonly traceparent: string | null;
  /** Something begins here that ends with a line. */
  child(step: string, about?: SpanSubject): Span;
  /** Something happened here at one moment. */
  event(line: TraceLine): void;
}

/** Something that takes time, such as a step, a call of a tool, or a request. */
export interface Span extends SpanScope {
  /** Takes what a model was sent and what it answered; null: texts are not exported (OTEL_GENAI_CAPTURE_CONTENT). */
  readonly content: ((content: ModelContent) => void) | null;
  end(line: TraceLine): void;
}

/** The span of a message. */
export interface MessageSpan extends SpanScope {
  /** What was noted before the message began here. */
  past(line: TraceLine): void;
  end(record: TraceRecord): void;
}

/** What is known when something begins, and is not in its line. */
export interface SpanSubject {
  /** Origin of the address that a request goes to. */
  origin?: string;
  /** Who runs the model. */
  provider?: string | undefined;
  max_output_tokens?: number | undefined;
}

export interface ModelContent {
  /** As the model gets it; written as JSON. */
  input: unknown;
  output: string;
}

/** A message that begins. */
export interface BegunMessage {
  turn_id: string;
  channel: string;
  /** It is answered later, by another request than the one that brought it. */
  is_later: boolean;
  /** As `Observer.parentOf` returned it; null: the message begins a trace of its own. */
  parent: string | null;
  /** The sender is known, or a platform has signed the message. */
  is_authenticated: boolean;
  /** When the message began, ms since the epoch, if that was earlier; null: now. */
  began_at: number | null;
}
