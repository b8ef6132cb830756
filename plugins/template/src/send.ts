import type { ChannelHealth, ChannelScope, OutgoingReply } from 'agentd/channel';
import { readSettings } from './settings.ts';

/** Refusals that a repetition may mend: the platform was too slow, or asks to wait. */
const PASSING: readonly number[] = [408, 429];

/** Hands replies to the platform. agentd calls again what fails, with the same `reply.id`. */
export class Sender {
  readonly #scope: ChannelScope;
  #isRefused = false;

  constructor(scope: ChannelScope) {
    this.#scope = scope;
  }

  /** Resolves when the platform has the reply. @throws what `scope.deliveryFailed` makes */
  async send({ id, text, reply_to }: OutgoingReply): Promise<void> {
    const response = await this.#post('/messages', { ...reply_to, text, key: id });
    // Nothing of the answer is needed; unread, it would hold the connection.
    await response.body?.cancel();
    this.#isRefused = response.status === 401 || response.status === 403;
    if (response.ok) return;
    const { status, headers } = response;
    const retryAfterSeconds = secondsOf(headers.get('Retry-After'));
    throw this.#scope.deliveryFailed(`the platform answered ${status}`, {
      final: status >= 400 && status < 500 && !PASSING.includes(status),
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    });
  }

  /** For `agentd status`. */
  health(): ChannelHealth {
    if (!this.#isRefused) return { status: 'ok' };
    return { status: 'degraded', detail: 'the platform refuses PIGEONPOST_TOKEN' };
  }

  async #post(path: string, body: object): Promise<Response> {
    const { api_url, token } = readSettings(this.#scope.settings);
    try {
      return await this.#scope.fetch(`${api_url}${path}`, {
        method: 'POST',
        // The token is for this address alone.
        redirect: 'manual',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
    } catch {
      // What was thrown may quote the request, and so the token.
      throw this.#scope.deliveryFailed('the platform cannot be reached', { final: false });
    }
  }
}

/** `Retry-After` is in seconds, or a date. */
function secondsOf(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
