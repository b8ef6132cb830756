import {
  type ChannelCheck,
  failureOfStatus,
  jsonObject,
  type OutgoingReply,
  type PushScope,
  readAnswer,
} from 'agentd/channel';
import { type Dialect, PLAIN, renderReply } from 'agentd/channel/markdown';
import { readSettings } from './settings.ts';

/** Maximum length of a message on the platform, in UTF-16 units. */
export const TEXT_LIMIT = 2000;
/** The platform shows text unchanged. See `Dialect` for platforms with marks and links. */
const DIALECT: Dialect = { ...PLAIN, limit: TEXT_LIMIT };
/** Maximum length of an answer, in characters. */
const ANSWER_MAX = 65_536;

/**
 * Splits a reply into messages. A question has two buttons. If it is too long for one message, it has no buttons, and
 * people answer with words.
 */
async function renderParts(reply: OutgoingReply): Promise<Part[]> {
  const { texts, question } = await renderReply(reply, DIALECT);
  const parts: Part[] = texts.map((text) => ({ text }));
  if (question === null) return parts;
  const buttons = question.buttons.map(({ label, press }) => ({ label, press }));
  return [...parts, { text: question.text, buttons }];
}

interface Part {
  text: string;
  buttons?: { label: string; press: string }[];
}

/** Sends replies to the platform. After a failure, the daemon calls `send` again with the same `reply.id`. */
export class Sender {
  readonly #scope: PushScope;

  constructor(scope: PushScope) {
    this.#scope = scope;
  }

  /**
   * Sends a reply as one message, or as several if it is long. Resolves when the platform has accepted all of them. If
   * one of them fails, the next attempt continues with it.
   * @throws the error of `scope.deliveryFailed`
   */
  send(reply: OutgoingReply): Promise<void> {
    return this.#scope.sendParts(
      reply.id,
      () => renderParts(reply),
      (part, index) => this.#sendPart({ ...reply.reply_to, ...part, key: `${reply.id}:${index}` }),
    );
  }

  /** For `agentd doctor`: checks whether the platform knows the token. */
  async check(): Promise<ChannelCheck> {
    const reach = 'Check that this machine can reach PIGEONPOST_API_URL.';
    try {
      const response = await this.#call('GET', '/me');
      const { status } = response;
      const name = nameIn((await readAnswer(response, ANSWER_MAX)) ?? '');
      if (status === 200 && name !== null)
        return { outcome: 'ok', detail: `the platform knows us as ${name}` };
      if (status !== 401 && status !== 403)
        return { outcome: 'failed', detail: `the platform answered ${status}`, advice: reach };
      const advice = 'Set PIGEONPOST_TOKEN to the token that the platform shows.';
      return { outcome: 'failed', detail: 'the platform refuses PIGEONPOST_TOKEN', advice };
    } catch {
      return { outcome: 'failed', detail: 'the platform cannot be reached', advice: reach };
    }
  }

  async #sendPart(message: object): Promise<void> {
    const response = await this.#call('POST', '/messages', message);
    // The body is not needed, but an unread body would keep the connection busy.
    await response.body?.cancel();
    const { ok, status, headers } = response;
    if (ok) return;
    throw this.#scope.deliveryFailed(`the platform answered ${status}`, failureOfStatus(status, headers));
  }

  async #call(method: 'GET' | 'POST', path: string, body?: object): Promise<Response> {
    const { api_url, token } = readSettings(this.#scope.settings);
    try {
      return await this.#scope.fetch(`${api_url}${path}`, {
        method,
        // The token must be sent only to this address.
        redirect: 'manual',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch {
      // The error may quote the request, which contains the token.
      throw this.#scope.deliveryFailed('the platform cannot be reached', {
        final: false,
        platform: 'unreachable',
      });
    }
  }
}

/** The name in an answer; null if it is not of the platform. It may be the error page of a proxy. */
function nameIn(text: string): string | null {
  const { name } = jsonObject(text);
  return typeof name === 'string' ? name : null;
}
