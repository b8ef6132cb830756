import type { PlatformSimulator, SimulatedEvent, SimulatedRequest } from 'agentd/channel';
import { TEXT_LIMIT } from './send.ts';
import { readSettings } from './settings.ts';
import { signRequest } from './verify.ts';

/**
 * Simulates the platform, for `agentd simulate`, `agentd serve --dev` and the conformance suite. A daemon in
 * production never loads it.
 */
export const simulator: PlatformSimulator = {
  apiUrlSetting: 'PIGEONPOST_API_URL',
  devSettings: (deriveSecret, api_url) => ({
    PIGEONPOST_TOKEN: deriveSecret('token'),
    PIGEONPOST_SECRET: deriveSecret('secret'),
    PIGEONPOST_API_URL: api_url,
  }),
  who: () => ['ada', 'grace'],
  delivery(event, settings) {
    const { secret } = readSettings(settings);
    return signed(event.bad_signature ? `not ${secret}` : secret, buildRequest(event));
  },
  sign: (request, settings) => signed(readSettings(settings).secret, request),
  // Commands are answered in private, in a room that has the same id as the person.
  seenIn: (event) => [toRoom(event), event.user],
  startApi: (settings) => ({
    answer({ method, path, headers, body }) {
      const refuse = (status: number, error: string) => ({ status, body: { error }, shown: [] });
      if (headers.authorization !== `Bearer ${readSettings(settings).token}`)
        return refuse(401, 'unknown token');
      if (method === 'GET' && path === '/me') return { status: 200, body: { name: 'agent' }, shown: [] };
      if (method !== 'POST' || path !== '/messages') return refuse(404, 'no such method');
      const { room, thread, text, buttons } = JSON.parse(Buffer.from(body).toString()) as Sent;
      if (!room || !text) return refuse(400, 'room and text are needed');
      if (text.length > TEXT_LIMIT) return refuse(400, 'the text is too long');
      const more = { ...(thread ? { thread } : {}), ...(buttons ? { buttons } : {}) };
      return { status: 201, body: { ok: true }, shown: [{ what: 'message', to: room, text, ...more }] };
    },
  }),
};

/** A message of the bot. */
interface Sent {
  room?: string;
  thread?: string;
  text?: string;
  buttons?: { label: string; press: string }[];
}

function buildRequest(event: SimulatedEvent): SimulatedRequest {
  return event.kind === 'command' ? buildCommand(event) : buildMessage(event);
}

function buildMessage(event: SimulatedEvent): SimulatedRequest {
  const { kind, user, user_name, thread, number, sent_at, text, place } = event;
  const body = {
    type: kind,
    // A press is a separate message.
    id: kind === 'press' ? `press${number}-${sent_at}` : `m${number}`,
    sent_at,
    from: { id: user, name: user_name ?? user },
    room: toRoom(event),
    shared: place === 'group',
    ...(thread === undefined ? {} : { thread }),
    text,
  };
  const headers = { 'Content-Type': 'application/json' };
  return { method: 'POST', path: '/webhook/pigeonpost', headers, body: JSON.stringify(body) };
}

function buildCommand({ user, number, text }: SimulatedEvent): SimulatedRequest {
  const [, command = '', argument = ''] = /^(\S*)\s*(.*)$/s.exec(text.toWellFormed()) ?? [];
  const body = new URLSearchParams({ id: `m${number}`, from: user, command, text: argument }).toString();
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return { method: 'POST', path: '/webhook/pigeonpost/command', headers, body };
}

function toRoom({ place, user }: SimulatedEvent): string {
  return place === 'group' ? 'common-room' : user;
}

function signed(secret: string, request: SimulatedRequest): SimulatedRequest {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = signRequest(secret, timestamp, request.body);
  return {
    ...request,
    headers: {
      ...request.headers,
      'X-Pigeonpost-Timestamp': timestamp,
      'X-Pigeonpost-Signature': signature,
    },
  };
}
