import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.ts';

/** A request for a completion, with the members that tests check. */
export interface CompletionRequest {
  authorization: string | null;
  model: string;
  messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  tools?: { function: { name: string; description: string; parameters: unknown } }[];
  tool_choice?: unknown;
  temperature?: number;
  max_tokens?: number;
  stream_options?: { include_usage?: boolean };
  stream: boolean;
}

/** The usage that the model reports for a request that asks for it. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

/** One answer of the model. */
export type ModelAnswer =
  /** Deltas of text, then `finish_reason: stop` by default. */
  | { text: readonly string[]; finish?: string; usage?: Usage }
  /**
   * Tool calls, after the text if there is any. The JSON of the arguments, or `raw` in its place, is sent in deltas of
   * a few characters.
   */
  | {
      tools: readonly { name: string; args: unknown; raw?: string }[];
      text?: readonly string[];
      usage?: Usage;
    }
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** These deltas, then the connection breaks. */
  | { cut: readonly string[] }
  /** These deltas, then the response ends properly, but without a `finish_reason`. `done`: with `[DONE]`. */
  | { unfinished: readonly string[]; done?: boolean }
  | { garbage: string }
  /** Never answers, not even with headers. */
  | 'hang';

/** An OpenAI-compatible server with scripted answers. */
export class FakeModel extends LocalServer {
  readonly requests: CompletionRequest[] = [];
  /** The models that the server lists. Null if it has no list of models. */
  models: readonly string[] | null = null;
  /** The key that is required to request the list. Null if no key is required. */
  key: string | null = null;
  /** Number of requests whose client disconnected before the end. */
  aborted = 0;
  /** Resolves when a request has arrived that gets no answer (`hang`). */
  readonly hanging: Promise<void>;
  #script: (request: CompletionRequest, index: number) => ModelAnswer = () => ({ text: ['Hello.'] });
  #onHang: () => void = () => {};

  constructor() {
    super();
    this.hanging = new Promise((resolve) => {
      this.#onHang = resolve;
    });
  }

  static start(): Promise<FakeModel> {
    return new FakeModel().listen();
  }

  /** Value for `AGENT_BASE_URL`. */
  override get url(): string {
    return `${this.origin}/v1`;
  }

  /**
   * Sets the answers: either a list with one answer for each request, where the last answer is repeated, or a function
   * of the request.
   */
  script(
    answers: readonly ModelAnswer[] | ((request: CompletionRequest, index: number) => ModelAnswer),
  ): void {
    this.requests.length = 0;
    if (typeof answers === 'function') this.#script = answers;
    else this.#script = (_, index) => answers[Math.min(index, answers.length - 1)] ?? { text: ['Hello.'] };
  }

  protected async handle(request: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<void> {
    if (request.method === 'GET' && request.url === '/v1/models' && this.models !== null) {
      if (this.key !== null && request.headers.authorization !== `Bearer ${this.key}`)
        return void response
          .writeHead(401)
          .end(JSON.stringify({ error: { message: `No such key: ${request.headers.authorization}.` } }));
      return void response.end(JSON.stringify({ data: this.models.map((id) => ({ id })) }));
    }
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions')
      return void response.writeHead(404).end();
    const body = JSON.parse(sent.toString()) as CompletionRequest;
    this.requests.push({ ...body, authorization: request.headers.authorization ?? null });
    response.on('close', () => {
      if (!response.writableFinished) this.aborted++;
    });
    const answer = this.#script(body, this.requests.length - 1);
    if (answer === 'hang') return this.#onHang();
    if ('status' in answer) {
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      return void response.end(
        JSON.stringify(answer.body ?? { error: { message: `status ${answer.status}` } }),
      );
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if ('garbage' in answer) return void response.end(`data: ${answer.garbage}\n\n`);
    const say = (delta: object, finish_reason: string | null = null) =>
      response.write(`data: ${JSON.stringify(chunkOf(body.model, delta, finish_reason))}\n\n`);
    const words =
      'cut' in answer ? answer.cut : 'unfinished' in answer ? answer.unfinished : (answer.text ?? []);
    for (const content of words) say({ content });
    if ('unfinished' in answer) return void response.end(answer.done ? 'data: [DONE]\n\n' : '');
    if ('cut' in answer) return void response.write('', () => setImmediate(() => response.destroy()));
    if ('tools' in answer) {
      for (const [index, { name, args, raw = JSON.stringify(args) }] of answer.tools.entries())
        sayCall(say, index, name, raw);
      say({}, 'tool_calls');
    } else say({}, answer.finish ?? 'stop');
    if (answer.usage && body.stream_options?.include_usage)
      response.write(
        `data: ${JSON.stringify({ ...chunkOf(body.model, {}, null), choices: [], usage: answer.usage })}\n\n`,
      );
    response.end('data: [DONE]\n\n');
  }
}

function sayCall(say: (delta: object) => void, index: number, name: string, args: string): void {
  say({
    tool_calls: [{ index, id: `call-${name}-${index}`, type: 'function', function: { name, arguments: '' } }],
  });
  for (const piece of args.match(/.{1,5}/gs) ?? [])
    say({ tool_calls: [{ index, function: { arguments: piece } }] });
}

function chunkOf(model: string, delta: object, finish_reason: string | null): object {
  return {
    id: 'completion-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason }],
  };
}
