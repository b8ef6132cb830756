import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.ts';
import { sampleAgent } from './sample-agent.ts';

/** A server on loopback that tells the sample agent (test/fixtures/dictated-agent.ts) what to answer. */
export class Dictation extends LocalServer {
  /** The text of the message of each run that has begun, in order. */
  readonly runs: string[] = [];
  readonly #said = new Map<string, { status: number; body?: string }[]>();
  readonly #waiting = new Map<string, ServerResponse>();
  /** Settings for the daemon. */
  env: Record<string, string> = {};

  static async start(): Promise<Dictation> {
    const dictation = await new Dictation().listen();
    dictation.env = { AGENT_RUNTIME: sampleAgent('dictated-agent.ts', dictation.origin) };
    return dictation;
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
    return this.until(() => this.runs.includes(text));
  }

  /** Forgets all words and runs, for the next test. */
  forget(): void {
    this.runs.length = 0;
    this.#said.clear();
    this.#waiting.clear();
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    const text = new URL(request.url ?? '', this.origin).searchParams.get('text') ?? '';
    if (request.method === 'POST') this.runs.push(text);
    this.#waiting.set(text, response);
    this.#deliver(text);
    this.emit('came');
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
