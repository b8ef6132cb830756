import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenOnFreePort } from './free-ports.ts';
import { sampleAgent } from './sample-agent.ts';

/** A server that gets a report of every run of the sample agent (test/fixtures/telling-agent.ts), on loopback. */
export class Runs extends EventEmitter<{ came: [] }> {
  /** The text of the message of each run that has begun, in order. */
  readonly texts: string[] = [];
  readonly #server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.texts.push((JSON.parse(body) as { text: string }).text);
    response.end();
    this.emit('came');
  });

  static async start(): Promise<Runs> {
    const runs = new Runs();
    await listenOnFreePort(runs.#server);
    return runs;
  }

  /** Settings for the daemon. */
  get env(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    return { AGENT_RUNTIME: sampleAgent('telling-agent.ts', `http://127.0.0.1:${port}`) };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
