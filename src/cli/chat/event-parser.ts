/** An event of a stream. */
export interface ServerEvent {
  /** The last `id:` so far; empty if there was none. */
  id: string;
  event: string;
  data: string;
}

/** Longest line and longest data of an event, in characters: much longer than any reply. */
const LENGTH_MAX = 8_388_608;

/**
 * Reads an event stream (WHATWG HTML, "Interpreting an event stream") from pieces that may be cut anywhere: within a
 * character, a line end or an event. It ignores `retry`.
 */
export class EventParser {
  /** Drops a byte order mark at the beginning. */
  readonly #decoder = new TextDecoder();
  #line = '';
  /**
   * Whether the last piece ended in a carriage return. A line feed at the start of the next piece is then part of the
   * same line end.
   */
  #returned = false;
  #id = '';
  #event = '';
  #data: string[] = [];
  #length = 0;

  /** @returns the events that are now complete. @throws RangeError if an event is too long */
  push(bytes: Uint8Array): ServerEvent[] {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return [];
    if (this.#returned && text.startsWith('\n')) text = text.slice(1);
    this.#returned = text.endsWith('\r');
    const lines = text.split(/\r\n|\r|\n/);
    const events: ServerEvent[] = [];
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') events.push(...this.#dispatch());
      else this.#field(line);
    }
    if (this.#line.length > LENGTH_MAX || this.#length > LENGTH_MAX)
      throw new RangeError(`an event has more than ${LENGTH_MAX} characters`);
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    // A line that begins with a colon is a comment.
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') {
      this.#data.push(value);
      this.#length += value.length;
    } else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
  }

  /** Ends an event. The id is kept for the next one. An event without data is dropped. */
  #dispatch(): ServerEvent[] {
    const [event, data] = [this.#event || 'message', this.#data];
    this.#event = '';
    this.#data = [];
    this.#length = 0;
    return data.length > 0 ? [{ id: this.#id, event, data: data.join('\n') }] : [];
  }
}
