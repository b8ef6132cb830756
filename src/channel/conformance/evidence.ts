import type { SimulatedEvent } from '../index.ts';
import type { SampleRequest } from './options.ts';

/** Exchanges that are shown, the latest ones. */
const SHOWN_MAX = 3;
/** Of a body and of an event, characters. */
const LENGTH_MAX = 600;

/**
 * What a channel was sent and what it sent in one case, so that a case that fails shows what it failed on. It
 * holds nothing but what the suite and the channel made up.
 */
export class Evidence {
  readonly #events = new WeakMap<SampleRequest, SimulatedEvent>();
  readonly #lines: string[][] = [];

  /** Remembers which event a delivery was made of. */
  made(request: SampleRequest, event: SimulatedEvent): void {
    this.#events.set(request, event);
  }

  /** @returns notes how it was answered. */
  delivery(request: SampleRequest): (answer: string) => void {
    const event = this.#events.get(request);
    const what =
      event === undefined ? 'a delivery' : `a delivery of the event ${bounded(JSON.stringify(event))}`;
    const { method = 'POST', path, body = '' } = request;
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    return this.#exchange(what, `${method} ${path} ${bounded(text)}`);
  }

  /** @returns notes how it was answered. */
  call({ method, path, body }: { method: string; path: string; body: string }): (answer: string) => void {
    return this.#exchange('a call to the platform', `${method} ${path} ${bounded(body)}`);
  }

  /** An error caused by this one, whose message shows the latest exchanges too. */
  shownWith(error: unknown): unknown {
    if (this.#lines.length === 0) return error;
    const told = error instanceof Error ? error.message.trimEnd() : String(error);
    const message = [told, '', 'What happened last:', ...this.#lines.flat()].join('\n');
    return new Error(message, { cause: error });
  }

  #exchange(what: string, request: string): (answer: string) => void {
    const lines = [`- ${what}`, `  ${request.trimEnd()}`];
    this.#lines.push(lines);
    if (this.#lines.length > SHOWN_MAX) this.#lines.shift();
    return (answer) => void lines.push(`  answer: ${answer}`);
  }
}

/** On one line. */
function bounded(text: string): string {
  const line = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  return line.length <= LENGTH_MAX ? line : `${line.slice(0, LENGTH_MAX)}… (${text.length} characters)`;
}
