import type { ChannelScope, JsonObject, OutgoingReply } from '../../../../src/channel/index.ts';
import { ReplyParts } from '../../../../src/channel/reply-parts.ts';
import { DeliveryFailed } from '../../../../src/daemon/message/delivery-failed.ts';
import { Secret } from '../../../../src/daemon/secret.ts';
import { collectLog, type LogLine } from '../../../harness/log-lines.ts';

export const TOKEN = '5550100:AAE-canary_of_the-bot-token';

/** One call of the Bot API. */
export interface Called {
  method: string;
  payload: Record<string, unknown>;
}

/** A scope whose `fetch` is the platform; what else a channel asks of it is not there. */
export function platformScope(answer: (called: Called, count: number) => Response | Promise<Response>): {
  scope: ChannelScope;
  calls: Called[];
  lines: LogLine[];
} {
  const calls: Called[] = [];
  const { log, lines } = collectLog();
  const replyParts = new ReplyParts();
  const fetch = async (url: string | URL | Request, init?: RequestInit) => {
    const called = {
      method: String(url).split('/').at(-1) ?? '',
      payload: JSON.parse(String(init?.body ?? '{}')) as Record<string, unknown>,
    };
    calls.push(called);
    return answer(called, calls.length);
  };
  const parts: Partial<ChannelScope> = {
    settings: {
      MSGBOT_BOT_TOKEN: new Secret(TOKEN),
      MSGBOT_WEBHOOK_SECRET: new Secret('webhook-secret-of-the-tests'),
      MSGBOT_API_URL: 'https://bots.example',
    },
    log,
    now: Date.now,
    fetch: fetch as typeof globalThis.fetch,
    sendParts: (...reply) => replyParts.send(...reply),
    deliveryFailed: (reason, options) => new DeliveryFailed(reason, options),
  };
  return { scope: parts as ChannelScope, calls, lines };
}

export const granted = () => Response.json({ ok: true, result: true });

export function refused(error_code: number, description: string, parameters?: object): Response {
  return Response.json(
    { ok: false, error_code, description, ...(parameters ? { parameters } : {}) },
    { status: error_code },
  );
}

export function reply(text: string, reply_to: JsonObject = { chat: 5550111 }, id = 'r1'): OutgoingReply {
  return { id, session_id: null, text, reply_to };
}
