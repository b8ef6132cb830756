import type { ServerResponse } from 'node:http';
import type { Context } from './exchange.ts';

type Value = string | readonly string[];

/**
 * The headers of a response, collected and then written together with its status and body. If each were set on Node's
 * response, they would cost several times as much.
 */
export class ResponseHead {
  readonly #res: ServerResponse;
  /** Names and values in turns. Null if the headers were handed over. */
  #fields: Value[] | null = [];

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** Sets a header, or replaces it. */
  set(name: string, value: Value): void {
    if (this.#fields === null) {
      this.#res.setHeader(name, value);
      return;
    }
    const index = findName(this.#fields, name);
    if (index === -1) this.#fields.push(name, value);
    else this.#fields.splice(index, 2, name, value);
  }

  setAll(headers: Readonly<Record<string, Value>>): void {
    for (const name in headers) this.set(name, headers[name] as Value);
  }

  /** Sends the whole response. */
  send(status: number, body: string | Buffer): void {
    this.set('Content-Length', String(Buffer.byteLength(body)));
    this.begin(status);
    this.#res.end(body);
  }

  /** Completes the head, which is sent with the first data. Afterwards, the headers need memory only as text. */
  begin(status: number): void {
    this.#res.writeHead(status, (this.#fields ?? []) as string[]);
    this.#fields = [];
  }

  /** Sets the headers on Node's response, for code that does not send it as a whole. Further headers are set there, too. */
  handOver(): void {
    const fields = this.#fields ?? [];
    this.#fields = null;
    for (let at = 0; at < fields.length; at += 2) this.set(fields[at] as string, fields[at + 1] as Value);
  }
}

function findName(fields: readonly Value[], name: string): number {
  for (let at = 0; at < fields.length; at += 2) {
    const known = fields[at] as string;
    if (known.length === name.length && known.toLowerCase() === name.toLowerCase()) return at;
  }
  return -1;
}

/** Sends a response as a whole. If its client has gone, only the log has its status. */
export function send(ctx: Context, status: number, body: string | Buffer): void {
  if (ctx.writable) ctx.state.head.send(status, body);
  else ctx.res.statusCode = status;
}
