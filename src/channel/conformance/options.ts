import type {
  ChannelPlugin,
  ChannelSettings,
  IncomingMessage,
  OutgoingReply,
  SimulatedEvent,
} from '../index.ts';
import { Bench } from './bench.ts';

/** A request of a client or of a platform. */
export interface SampleRequest {
  method?: string;
  /** Path and query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

export interface ConformanceOptions {
  plugin: ChannelPlugin;
  /** The channel's settings. If the plugin has a simulator, its `devSettings` provide the settings that are missing. */
  settings?: ChannelSettings;
  /** Deliveries besides those of the simulator, each with the messages that the channel must make of it. */
  messages?: readonly { request: SampleRequest; expect: readonly Partial<IncomingMessage>[] }[];
  /** Requests that must be refused, each with the code of the problem. No message may be enqueued. */
  refused?: readonly { title: string; request: SampleRequest; code: string }[];
  /**
   * For channels that deliver by push: a reply, and the platform's answers to it. If the plugin has a simulator, the
   * simulator provides `reply` and `accepted`, and these two members are ignored.
   */
  send?: {
    reply: OutgoingReply;
    accepted: () => Response;
    /** A refusal that is final: the platform would refuse the reply again. */
    refused: () => Response;
    /** A refusal of the channel's credentials. */
    credentialsRefused?: () => Response;
  };
}

export interface ConformanceCase {
  name: string;
  run(): Promise<void>;
}

/** The options, and the record of the case that is running. */
export interface TrialOptions extends ConformanceOptions {
  evidence: Evidence;
}

/** One case. It rejects if the channel breaks the contract. */
export type Trial = (bench: Bench) => Promise<void>;

/** The cases that a test runner gets. The error of a failed case shows the latest deliveries and calls. */
export function toCases(
  options: ConformanceOptions,
  trials: readonly (readonly [name: string, trial: Trial])[],
): ConformanceCase[] {
  return trials.map(([name, trial]) => ({
    name: `${options.plugin.name}: ${name}`,
    async run() {
      const evidence = new Evidence();
      try {
        await trial(await Bench.set({ ...options, evidence }));
      } catch (error) {
        throw evidence.shownWith(error);
      }
    },
  }));
}

/** Number of exchanges that are shown. */
const SHOWN_MAX = 3;
/** Longest part of a body or an event that is shown, characters. */
const LENGTH_MAX = 600;

/**
 * The deliveries and calls of one case, so that a failed case can show them. All of this data is made up by the suite
 * and the channel, so it contains no secrets.
 */
export class Evidence {
  readonly #events = new WeakMap<SampleRequest, SimulatedEvent>();
  readonly #lines: string[][] = [];

  /** Records the event that a delivery was made from. */
  made(request: SampleRequest, event: SimulatedEvent): void {
    this.#events.set(request, event);
  }

  /** Records a delivery. Returns a function that records the answer. */
  delivery(request: SampleRequest): (answer: string) => void {
    const event = this.#events.get(request);
    const what =
      event === undefined ? 'a delivery' : `a delivery of the event ${cutLine(JSON.stringify(event))}`;
    const { method = 'POST', path, body = '' } = request;
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    return this.#exchange(what, `${method} ${path} ${cutLine(text)}`);
  }

  /** Records a call to the platform. Returns a function that records the answer. */
  call({ method, path, body }: { method: string; path: string; body: string }): (answer: string) => void {
    return this.#exchange('a call to the platform', `${method} ${path} ${cutLine(body)}`);
  }

  /** Returns an error with the message of `error`, followed by the latest exchanges. Its cause is `error`. */
  shownWith(error: unknown): unknown {
    if (this.#lines.length === 0) return error;
    const text = error instanceof Error ? error.message.trimEnd() : String(error);
    const message = [text, '', 'What happened last:', ...this.#lines.flat()].join('\n');
    return new Error(message, { cause: error });
  }

  #exchange(what: string, request: string): (answer: string) => void {
    const lines = [`- ${what}`, `  ${request.trimEnd()}`];
    this.#lines.push(lines);
    if (this.#lines.length > SHOWN_MAX) this.#lines.shift();
    return (answer) => void lines.push(`  answer: ${answer}`);
  }
}

/** The text on one line, cut after LENGTH_MAX characters. */
function cutLine(text: string): string {
  const line = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  return line.length <= LENGTH_MAX ? line : `${line.slice(0, LENGTH_MAX)}… (${text.length} characters)`;
}
