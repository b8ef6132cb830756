import type { Clock } from '../time/clock.ts';
import type { Span, SpanScope, SpanSubject } from './span.ts';
import type { StepLine, TraceLine } from './trace-record.ts';

/** A trace line without its time. */
export type Note = Omit<TraceLine, 'at'>;

/** Writes lines to the trace of a message. */
export interface TraceWriter {
  /** Writes a line at once. */
  note(line: Note): void;
  /** Starts a part of the trace. Its line is written when the part ends. */
  begin(step: string, about?: SpanSubject): TracePart;
}

/** A part of the trace that has started. Lines that are written to the part belong to it. */
export interface TracePart extends TraceWriter {
  /** The `traceparent` header for the requests of this part. Null: no header is sent. */
  readonly traceparent: string | null;
  /** See `Span.content`. */
  readonly content: Span['content'];
  end(line: Omit<Note, 'step'>): void;
}

/** Collects the lines of one trace. Their number is limited, so that a run in a loop cannot fill the store. */
export class Trace implements TraceWriter {
  static readonly MAX_LINES = 200;
  readonly lines: TraceLine[];
  readonly #clock: Clock;
  readonly #scope: SpanScope | null;
  /** The current step of the message; empty if there is none. */
  #name = '';
  #began = 0;
  #step: Span | null = null;
  #children = 0;
  #dropped = 0;

  /**
   * @param begun the lines that were written before. Later lines are appended to this array.
   * @param scope receives the steps as spans and the lines as events. Null: no spans are collected.
   */
  constructor(clock: Clock, begun: TraceLine[] = [], scope: SpanScope | null = null) {
    this.#clock = clock;
    this.lines = begun;
    this.#scope = scope;
  }

  note(line: Note): void {
    this.#noteIn(this.#step ?? this.#scope, line);
  }

  begin(step: string, about?: SpanSubject): TracePart {
    return this.#part(step, this.#step ?? this.#scope, about);
  }

  /** Starts a step. Lines belong to the step until `leave` is called. Steps do not overlap. */
  enter(step: string): void {
    this.#name = step;
    this.#began = performance.now();
    this.#step = this.#startChild(this.#scope, step);
  }

  /** Ends the current step. The line gets the name of the step, its time and its duration. */
  leave(line: StepLine): void {
    const span = this.#step;
    this.#step = null;
    const took_ms = Math.round((performance.now() - this.#began) * 10) / 10;
    this.#end(span, { at: this.#clock.now(), step: this.#name, ...line, took_ms });
  }

  /** The lines as they are stored. If lines were dropped, the last line says how many. */
  finished(): TraceLine[] {
    if (this.#dropped === 0) return this.lines;
    const at = this.#clock.now();
    return [
      ...this.lines,
      { at, step: 'trace', verdict: 'ok', reason: 'truncated', detail: { dropped: this.#dropped } },
    ];
  }

  #part(step: string, parent: SpanScope | null, about?: SpanSubject): TracePart {
    const span = this.#startChild(parent, step, about);
    return {
      traceparent: span?.traceparent ?? parent?.traceparent ?? null,
      content: span?.content ?? null,
      note: (line) => this.#noteIn(span ?? parent, line),
      begin: (inner, subject) => this.#part(inner, span ?? parent, subject),
      end: (line) => this.#end(span, { at: this.#clock.now(), step, ...line }),
    };
  }

  #noteIn(span: SpanScope | null, line: Note): void {
    const noted = { at: this.#clock.now(), ...line };
    if (this.#keep(noted)) span?.event(noted);
  }

  #end(span: Span | null, line: TraceLine): void {
    this.#keep(line);
    span?.end(line);
  }

  /** Adds a line. @returns false if there are too many lines. */
  #keep(line: TraceLine): boolean {
    if (this.lines.length >= Trace.MAX_LINES) {
      this.#dropped++;
      return false;
    }
    this.lines.push(line);
    return true;
  }

  /** Starts a span. Null if there are too many spans; then the lines belong to the surrounding span. */
  #startChild(parent: SpanScope | null, step: string, about?: SpanSubject): Span | null {
    if (parent === null || this.#children >= Trace.MAX_LINES) return null;
    this.#children++;
    return parent.child(step, about);
  }
}
