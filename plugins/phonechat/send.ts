import type { ChannelScope, JsonObject, OutgoingReply } from '../../src/channel/index.ts';
import type { Graph } from './graph.ts';
import { render } from './render.ts';

/** All parts of one reply together, ms: less than the daemon waits, so that two attempts never overlap. */
const REPLY_MS = 50_000;
/** Replies whose parts have gone out in part; beyond it the oldest are forgotten. */
const BEGUN_MAX = 1000;

/** Sends replies, each as as many messages as its length asks for. */
export class Sender {
  readonly #scope: ChannelScope;
  readonly #graph: Graph;
  /** How many parts of a reply the platform has taken, by the reply's id: an attempt goes on behind them. */
  readonly #begun = new Map<string, number>();

  constructor(scope: ChannelScope, graph: Graph) {
    this.#scope = scope;
    this.#graph = graph;
  }

  async send({ id, text, reply_to }: OutgoingReply): Promise<void> {
    const limit = AbortSignal.timeout(REPLY_MS);
    const parts = render(text);
    const { number_id, ...address } = addressOf(reply_to);
    for (let part = this.#begun.get(id) ?? 0; part < parts.length; part++) {
      const message = { ...address, type: 'text', text: { preview_url: false, body: parts[part] ?? '' } };
      const failure = await this.#graph.post(number_id, message, limit);
      if (failure !== null) {
        const { reason, final, retryAfterSeconds } = failure;
        throw this.#scope.deliveryFailed(reason, {
          final,
          ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
        });
      }
      this.#note(id, part + 1);
    }
    this.#begun.delete(id);
  }

  #note(id: string, parts: number): void {
    this.#begun.delete(id);
    this.#begun.set(id, parts);
    const [oldest] = this.#begun.keys();
    if (this.#begun.size > BEGUN_MAX && oldest !== undefined) this.#begun.delete(oldest);
  }
}

/** Who it goes to, in the platform's words, and from which business number. */
function addressOf({ number_id, to, recipient, group }: JsonObject): JsonObject & { number_id: string } {
  const from = { number_id: String(number_id) };
  if (typeof group === 'string') return { ...from, recipient_type: 'group', to: group };
  const person = typeof recipient === 'string' ? { recipient } : { to: String(to) };
  return { ...from, recipient_type: 'individual', ...person };
}
