import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenOnFreePort } from './free-ports.ts';

/**
 * A server that answers only when the test releases it. Until then, the work that called the server stays in progress.
 */
export class Gate {
  readonly #waiting: ServerResponse[] = [];
  readonly #arrivals: (() => void)[] = [];
  readonly #server = createServer((_request, response) => {
    this.#waiting.push(response);
    for (const arrived of this.#arrivals.splice(0)) arrived();
  });

  static async open(): Promise<Gate> {
    const gate = new Gate();
    await listenOnFreePort(gate.#server);
    return gate;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Resolves when this many requests are waiting. */
  async waiting(count: number): Promise<void> {
    while (this.#waiting.length < count) {
      await new Promise<void>((resolve) => this.#arrivals.push(resolve));
    }
  }

  /** Answers all requests that are waiting now. */
  release(): void {
    for (const response of this.#waiting.splice(0)) response.end('go on');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
