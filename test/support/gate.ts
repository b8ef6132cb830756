import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.ts';

/**
 * A server that answers only when the test releases it. Until then, the work that called the server stays in progress.
 */
export class Gate extends LocalServer {
  readonly #waiting: ServerResponse[] = [];

  static open(): Promise<Gate> {
    return new Gate().listen();
  }

  override get url(): string {
    return `${this.origin}/`;
  }

  /** Resolves when this many requests are waiting. */
  waiting(count: number): Promise<void> {
    return this.until(() => this.#waiting.length >= count);
  }

  /** Answers all requests that are waiting now. */
  release(): void {
    for (const response of this.#waiting.splice(0)) response.end('go on');
  }

  protected handle(_request: IncomingMessage, response: ServerResponse): void {
    this.#waiting.push(response);
    this.emit('came');
  }
}
