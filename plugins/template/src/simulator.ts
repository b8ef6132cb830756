import type { PlatformSimulator, SimulatedEvent } from 'agentd/channel';
import { readSettings } from './settings.ts';
import { signatureOf } from './verify.ts';

/**
 * Stands in for the platform: for `agentd simulate`, `agentd serve --dev` and the conformance suite. It is never
 * loaded in production.
 */
export const simulator: PlatformSimulator = {
  apiUrlSetting: 'PIGEONPOST_API_URL',
  devSettings: (secretOf, api_url) => ({
    PIGEONPOST_TOKEN: secretOf('token'),
    PIGEONPOST_SECRET: secretOf('secret'),
    PIGEONPOST_API_URL: api_url,
  }),
  who: () => ['ada', 'grace'],
  delivery(event, settings) {
    const body = JSON.stringify(bodyOf(event));
    const { secret } = readSettings(settings);
    const headers = signedHeaders(event.bad_signature ? `not ${secret}` : secret, body);
    return { method: 'POST', path: '/webhook/pigeonpost', headers, body };
  },
  sign: (request, settings) => ({
    ...request,
    headers: { ...request.headers, ...signedHeaders(readSettings(settings).secret, request.body) },
  }),
  seenIn: (event) => [roomOf(event)],
  startApi: (settings) => ({
    answer({ method, path, headers, body }) {
      const refuse = (status: number, error: string) => ({ status, body: { error }, shown: [] });
      if (headers.authorization !== `Bearer ${readSettings(settings).token}`)
        return refuse(401, 'unknown token');
      if (method === 'GET' && path === '/me') return { status: 200, body: { name: 'agent' }, shown: [] };
      if (method !== 'POST' || path !== '/messages') return refuse(404, 'no such method');
      const { room, thread, text } = JSON.parse(Buffer.from(body).toString()) as Record<string, string>;
      if (!room || !text) return refuse(400, 'room and text are needed');
      const shown = { what: 'message', to: room, text, ...(thread ? { thread } : {}) } as const;
      return { status: 201, body: { ok: true }, shown: [shown] };
    },
  }),
};

function bodyOf(event: SimulatedEvent): object {
  const { kind, user, user_name, thread, number, sent_at, text, place } = event;
  return {
    // This platform has no commands: they are messages like others.
    type: kind === 'command' ? 'message' : kind,
    id: `m${number}`,
    sent_at,
    from: { id: user, name: user_name ?? user },
    room: roomOf(event),
    shared: place === 'group',
    ...(thread === undefined ? {} : { thread }),
    text,
  };
}

function roomOf({ place, user }: SimulatedEvent): string {
  return place === 'group' ? 'common-room' : user;
}

function signedHeaders(secret: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    'Content-Type': 'application/json',
    'X-Pigeonpost-Timestamp': timestamp,
    'X-Pigeonpost-Signature': signatureOf(secret, timestamp, body),
  };
}
