import type { ChannelCheck, ChannelHealth, ChannelScope, OutgoingReply } from 'agentd/channel';
import { readSettings } from './settings.ts';

/** Refusals that a repetition may mend: the platform was too slow, or asks to wait. */
const PASSING: readonly number[] = [408, 429];
/** Longest answer that is read, characters. */
const ANSWER_MAX = 65_536;

/** Hands replies to the platform. agentd calls again what fails, with the same `reply.id`. */
export class Sender {
  readonly #scope: ChannelScope;
  #isRefused = false;

  constructor(scope: ChannelScope) {
    this.#scope = scope;
  }

  /** Resolves when the platform has the reply. @throws what `scope.deliveryFailed` makes */
  async send({ id, text, reply_to }: OutgoingReply): Promise<void> {
    const response = await this.#call('POST', '/messages', { ...reply_to, text, key: id });
    // Nothing of the answer is needed; unread, it would hold the connection.
    await response.body?.cancel();
    this.#isRefused = response.status === 401 || response.status === 403;
    if (response.ok) return;
    const { status, headers } = response;
    const retryAfterSeconds = secondsOf(headers.get('Retry-After'));
    const platform = platformOf(status);
    throw this.#scope.deliveryFailed(`the platform answered ${status}`, {
      final: status >= 400 && status < 500 && !PASSING.includes(status),
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
      ...(platform === null ? {} : { platform }),
    });
  }

  /** For `agentd status`. */
  health(): ChannelHealth {
    if (!this.#isRefused) return { status: 'ok' };
    return { status: 'degraded', detail: 'the platform refuses PIGEONPOST_TOKEN' };
  }

  /** For `agentd doctor`: does the platform know the token? */
  async check(): Promise<ChannelCheck> {
    const reach = 'Does this machine reach PIGEONPOST_API_URL?';
    try {
      const response = await this.#call('GET', '/me');
      const { status } = response;
      const name = nameIn(await textOf(response));
      if (status === 200 && name !== null)
        return { outcome: 'ok', detail: `the platform knows us as ${name}` };
      if (status !== 401 && status !== 403)
        return { outcome: 'failed', detail: `the platform answered ${status}`, advice: reach };
      const advice = 'Set PIGEONPOST_TOKEN to the one that the platform shows.';
      return { outcome: 'failed', detail: 'the platform refuses PIGEONPOST_TOKEN', advice };
    } catch {
      return { outcome: 'failed', detail: 'the platform cannot be reached', advice: reach };
    }
  }

  async #call(method: 'GET' | 'POST', path: string, body?: object): Promise<Response> {
    const { api_url, token } = readSettings(this.#scope.settings);
    try {
      return await this.#scope.fetch(`${api_url}${path}`, {
        method,
        // The token is for this address alone.
        redirect: 'manual',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch {
      // What was thrown may quote the request, and so the token.
      throw this.#scope.deliveryFailed('the platform cannot be reached', {
        final: false,
        platform: 'unreachable',
      });
    }
  }
}

/** What a status says of the platform as a whole: agentd lets all replies wait until it answers again. */
function platformOf(status: number): 'unreachable' | 'credentials' | null {
  if (status === 401) return 'credentials';
  return status >= 500 || status < 400 ? 'unreachable' : null;
}

/** What an answer says; nothing where it says more than it can need. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ANSWER_MAX) return '';
  }
  return text;
}

function nameIn(text: string): string | null {
  try {
    const { name } = (JSON.parse(text) ?? {}) as { name?: unknown };
    return typeof name === 'string' ? name : null;
  } catch {
    // Not an answer of the platform's: a page of a proxy, perhaps.
    return null;
  }
}

/** `Retry-After` is in seconds, or a date. */
function secondsOf(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
