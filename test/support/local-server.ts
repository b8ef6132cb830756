import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { closeAtEnd } from './close-at-end.ts';

/** A server on loopback that a test starts. It is closed at the end. */
export abstract class LocalServer extends EventEmitter<{ came: [] }> {
  readonly #server = createServer((request, response) => {
    this.#receive(request, response).catch((error: Error) => response.destroy(error));
  });

  #port = 0;

  constructor() {
    super();
    this.setMaxListeners(0);
  }

  /** @param port default: a free one */
  async listen(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    closeAtEnd(() => this.close());
    return this;
  }

  get port(): number {
    return this.#port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The address for a setting of the daemon. */
  get url(): string {
    return this.origin;
  }

  /** Resolves when the condition is true. It is checked whenever `came` is emitted. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this, 'came');
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** @param body the whole body of the request */
  protected abstract handle(
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
  ): Promise<void> | void;

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.handle(request, response, await buffer(request));
  }
}
