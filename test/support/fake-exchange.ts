import { copyFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { LocalServer } from './local-server.ts';
import { sampleAgent } from './sample-agent.ts';

export interface SentText {
  id: string;
  to: string | null;
  text: string;
  session_id: string | null;
  /** ms since the epoch. */
  at: number;
}

/** The report of an agent about a run. Not every agent reports all members. */
export interface Run {
  text: string;
  /** The process that runs the agent. */
  pid?: number;
  sign_in_expired: boolean;
  person: { email: string } | null;
  speaker: string;
  history: { user: string; speaker: string; reply: string }[];
}

/** The answer to a text: a status, perhaps with `Retry-After`; `hang`: no answer. */
export type Answer = { status: number; retryAfter?: number } | 'hang';

/**
 * The platform of the sample channel telex (test/fixtures/telex.ts), on loopback. It records the requests of the daemon
 * and answers them. The sample agent reports its runs to `run`.
 */
export class FakeExchange extends LocalServer {
  /** `taken` are the accepted texts, `calls` all requests to `/send`. */
  readonly taken: SentText[] = [];
  readonly calls: SentText[] = [];
  readonly typed: (string | null)[] = [];
  readonly runs: Run[] = [];
  /** Called for each text. By default, every text is accepted. */
  answer: (text: SentText) => Answer = () => ({ status: 200 });
  /** Called for each run. The run continues when the returned promise resolves. */
  holdRun: (run: Run) => Promise<void> = async () => {};
  /** Settings of a daemon with the sample agent. */
  agentEnv: Record<string, string> = {};

  static async start(): Promise<FakeExchange> {
    const exchange = await new FakeExchange().listen();
    exchange.agentEnv = { AGENT_RUNTIME: sampleAgent('telling-agent.ts', exchange.origin) };
    return exchange;
  }

  /** Settings of a daemon with the sample agent and the channel telex, both loaded from their files. */
  env(directory: string): Record<string, string> {
    const plugin = join(directory, 'telex.ts');
    const samples = resolve(import.meta.dirname, '../fixtures');
    copyFileSync(join(samples, 'telex.ts'), plugin);
    return {
      MESSAGING_PLATFORMS: `webchat,${plugin}`,
      TELEX_API_URL: this.origin,
      ...this.agentEnv,
    };
  }

  /** Accepted texts for a place, in order. */
  textsTo(place: string): string[] {
    return this.taken.filter(({ to }) => to === place).map(({ text }) => text);
  }

  /** Forgets everything, and accepts all texts again, for the next test. */
  forget(): void {
    for (const list of [this.taken, this.calls, this.typed, this.runs]) list.length = 0;
    this.answer = () => ({ status: 200 });
    this.holdRun = async () => {};
  }

  protected async handle(request: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<void> {
    const body = JSON.parse(sent.toString()) as SentText & Run;
    let status = 200;
    if (request.url === '/run') {
      this.runs.push(body);
      this.emit('came');
      await this.holdRun(body);
    }
    if (request.url === '/typing') this.typed.push(body.to);
    if (request.url === '/send') {
      const text = { ...body, at: Date.now() };
      this.calls.push(text);
      const answer = this.answer(text);
      this.emit('came');
      if (answer === 'hang') return;
      status = answer.status;
      if (answer.retryAfter !== undefined) response.setHeader('Retry-After', String(answer.retryAfter));
      if (status === 200) this.taken.push(text);
    }
    response.writeHead(status).end();
    this.emit('came');
  }
}
