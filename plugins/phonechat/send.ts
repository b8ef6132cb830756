import type { JsonObject, OutgoingReply, PushScope } from '../../src/channel/index.ts';
import type { Graph } from './graph.ts';

/** Timeout for all parts of one reply, in ms. The daemon waits longer, so two attempts never overlap. */
const REPLY_MS = 50_000;

let renderer: Promise<typeof import('./question.ts')> | undefined;

/** Loads what renders a reply, which only a daemon with this channel needs. */
export function loadRenderer(): Promise<typeof import('./question.ts')> {
  renderer ??= import('./question.ts');
  return renderer;
}

/** Sends replies, each as one or more messages. */
export class Sender {
  readonly #scope: PushScope;
  readonly #graph: Graph;

  constructor(scope: PushScope, graph: Graph) {
    this.#scope = scope;
    this.#graph = graph;
  }

  async send({ id, text, reply_to, confirmation }: OutgoingReply): Promise<void> {
    const limit = AbortSignal.timeout(REPLY_MS);
    const { number_id, ...address } = addressOf(reply_to);
    const isGroup = address.recipient_type === 'group';
    await this.#scope.sendParts(
      id,
      // The platform has no buttons in groups.
      async () => (await loadRenderer()).messagesOf(text, isGroup ? undefined : confirmation),
      async (message) => {
        const failure = await this.#graph.post(number_id, { ...address, ...message }, limit);
        if (failure === null) return;
        const { reason, final, retry_after_seconds, platform } = failure;
        throw this.#scope.deliveryFailed(reason, {
          final,
          ...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
          ...(platform === undefined ? {} : { platform }),
        });
      },
    );
  }
}

/** The recipient, and the business number that sends the reply. */
function addressOf({ number_id, to, recipient, group }: JsonObject): JsonObject & { number_id: string } {
  const from = { number_id: String(number_id) };
  if (typeof group === 'string') return { ...from, recipient_type: 'group', to: group };
  const person = typeof recipient === 'string' ? { recipient } : { to: String(to) };
  return { ...from, recipient_type: 'individual', ...person };
}
