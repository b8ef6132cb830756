import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { listenOnFreePort } from './free-ports.ts';
import { sampleAgent } from './sample-agent.ts';

/** A server on loopback that tells the sample agent (test/fixtures/dictated-agent.ts) what to answer. */
export class Dictation {
  /** The text of the message of each run that has begun, in order. */
  readonly runs: string[] = [];
  readonly #said = new Map<string, { status: number; body?: string }[]>();
  readonly #waiting = new Map<string, ServerResponse>();
  readonly #begun = new Map<string, () => void>();
  #agent = '';
  readonly #server = createServer((request, response) => {
    const text = new URL(request.url ?? '', 'http://dictation').searchParams.get('text') ?? '';
    if (request.method === 'POST') {
      this.runs.push(text);
      this.#begun.get(text)?.();
    }
    this.#waiting.set(text, response);
    this.#deliver(text);
  });

  static async start(): Promise<Dictation> {
    const dictation = new Dictation();
    const port = await listenOnFreePort(dictation.#server);
    dictation.#agent = sampleAgent('dictated-agent.ts', `http://127.0.0.1:${port}`);
    return dictation;
  }

  /** Settings for the daemon. */
  get env(): Record<string, string> {
    return {
      AGENT_RUNTIME: this.#agent,
    };
  }

  /** Sends the next pieces of the answer to `text`. */
  say(text: string, ...pieces: string[]): void {
    for (const body of pieces) this.#add(text, { status: 200, body });
  }

  /** Ends the answer. */
  end(text: string): void {
    this.#add(text, { status: 204 });
  }

  /** Makes the agent throw. */
  fail(text: string): void {
    this.#add(text, { status: 500, body: 'the agent was told to fail' });
  }

  /** Resolves when the run that answers `text` begins, or has begun. */
  begun(text: string): Promise<void> {
    if (this.runs.includes(text)) return Promise.resolve();
    return new Promise((resolveBegun) => this.#begun.set(text, resolveBegun));
  }

  /** Forgets all words and runs, for the next test. */
  forget(): void {
    this.runs.length = 0;
    this.#said.clear();
    this.#waiting.clear();
    this.#begun.clear();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #add(text: string, answer: { status: number; body?: string }): void {
    this.#said.set(text, [...(this.#said.get(text) ?? []), answer]);
    this.#deliver(text);
  }

  #deliver(text: string): void {
    const response = this.#waiting.get(text);
    const next = response && this.#said.get(text)?.shift();
    if (!next) return;
    this.#waiting.delete(text);
    response.writeHead(next.status).end(next.body);
  }
}
