import type { JsonObject, OutgoingReply } from '../../../../src/channel/index.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { type RecordingScope, recordingScope } from '../../../support/channel-scope.ts';
import { collectLog, type LogLine } from '../../../support/log-lines.ts';

export const TOKEN = '5550100:AAE-canary_of_the-bot-token';

/** One call of the Bot API. */
export interface Called {
  method: string;
  payload: Record<string, unknown>;
}

/** A scope with a `fetch` that imitates the platform. */
export function platformScope(answer: (called: Called, count: number) => Response | Promise<Response>): {
  scope: RecordingScope;
  calls: Called[];
  lines: LogLine[];
} {
  const calls: Called[] = [];
  const { log, lines } = collectLog();
  const fetch = async (url: string | URL | Request, init?: RequestInit) => {
    const called = {
      method: String(url).split('/').at(-1) ?? '',
      payload: JSON.parse(String(init?.body ?? '{}')) as Record<string, unknown>,
    };
    calls.push(called);
    return answer(called, calls.length);
  };
  const settings = {
    MSGBOT_BOT_TOKEN: new Secret(TOKEN),
    MSGBOT_WEBHOOK_SECRET: new Secret('webhook-secret-of-the-tests'),
    MSGBOT_API_URL: 'https://bots.example',
  };
  return { scope: recordingScope(settings, { log, fetch }), calls, lines };
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
