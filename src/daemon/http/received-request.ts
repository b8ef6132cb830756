import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ChannelRequest } from '../../channel/index.ts';
import { PARTS_MAX, readMultipart } from '../../channel/payload.ts';
import { AgentdError } from '../errors.ts';
import type { ValidatedToken } from '../identity/identity.ts';
import type { Ticket } from '../time/tickets.ts';
import { parseJson } from './body.ts';
import type { Context } from './exchange.ts';

/**
 * A request as a channel sees it, with two members for the daemon: its place in the order of arrival, and its token.
 * Expensive members are computed once, when they are first read.
 */
export class ReceivedRequest implements ChannelRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  readonly address: string;
  /** Its place in the order of arrival; null if it names no thread. */
  ticket: Ticket | null = null;
  /** The validated user token of the request; null if the request has no token, or if its token was not validated. */
  validated: ValidatedToken | null = null;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  #query: URLSearchParams | undefined;
  #json: Record<string, unknown> | undefined;
  #signal: AbortSignal | undefined;

  constructor(ctx: Context, body: Uint8Array) {
    this.id = ctx.state.request_id;
    this.method = ctx.method;
    this.path = ctx.state.path;
    this.params = ctx.state.found.params;
    this.headers = joined(ctx.req.headers);
    this.body = body;
    this.address = ctx.state.address;
    this.#req = ctx.req;
    this.#res = ctx.res;
  }

  /** The request that a channel passed back to the daemon; null for an object that the daemon did not make. */
  static of(request: ChannelRequest | undefined): ReceivedRequest | null {
    return request instanceof ReceivedRequest ? request : null;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#req.url?.slice(this.path.length));
    return this.#query;
  }

  json(): Record<string, unknown> {
    this.#json ??= parseJson(this.body);
    return this.#json;
  }

  form(): URLSearchParams {
    return new URLSearchParams(
      Buffer.from(this.body.buffer, this.body.byteOffset, this.body.byteLength).toString('utf8'),
    );
  }

  async multipart(): Promise<FormData> {
    const parts = await readMultipart(this.headers['content-type'], this.body);
    if (parts !== null) return parts;
    const detail = `The body is not valid multipart/form-data, or has more than ${PARTS_MAX} parts.`;
    throw new AgentdError('invalid_request', detail);
  }

  get signal(): AbortSignal {
    this.#signal ??= goneSignal(this.#res);
    return this.#signal;
  }
}

/** `Set-Cookie` is the only header that Node returns as a list; it has no meaning in a request. */
function joined(headers: IncomingMessage['headers']): Readonly<Record<string, string | undefined>> {
  const { 'set-cookie': cookies } = headers;
  const others = headers as Record<string, string | undefined>;
  return cookies === undefined ? others : { ...others, 'set-cookie': cookies.join(', ') };
}

/** Aborts when a response closes before it was sent completely: the client has gone. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = () => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.closed) leave();
  else response.once('close', leave);
  return gone.signal;
}
