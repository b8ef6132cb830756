import type {
  ChannelScope,
  ChannelSettings,
  IncomingMessage,
  JsonObject,
  LinkAnswer,
} from '../../src/channel/index.ts';
import { ReplyParts } from '../../src/channel/reply-parts.ts';
import { AgentdError } from '../../src/daemon/errors.ts';
import { DeliveryFailed } from '../../src/daemon/message/delivery-failed.ts';

/** A scope for one channel alone: what the channel does with it is kept, what it asks is answered by the test. */
export interface RecordingScope extends ChannelScope {
  accepted: IncomingMessage[];
  said: { reply_to: JsonObject; text: string; message_id: string | undefined }[];
  edited: { message_id: string; text: string }[];
  logged: { level: string; message: string; fields: object }[];
  linked: Map<string, string>;
}

/** What the scope answers to a link; a token of this text is taken. */
export const GOOD_TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl';
export const LINKED: LinkAnswer = {
  linked: true,
  user_id: 'user-ada',
  email: 'ada@example.com',
  expires_at: Date.UTC(2030, 0, 2, 3, 4, 5),
};

export function recordingScope(
  settings: ChannelSettings,
  members: Partial<Pick<ChannelScope, 'fetch' | 'now' | 'accept' | 'links' | 'say' | 'edit'>> = {},
): RecordingScope {
  const logged: RecordingScope['logged'] = [];
  const log = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, message, fields });
  const notHere = (what: string) => () => {
    throw new Error(`${what} is not for a channel that answers later`);
  };
  const accepted: IncomingMessage[] = [];
  const said: RecordingScope['said'] = [];
  const edited: RecordingScope['edited'] = [];
  const linked = new Map<string, string>();
  const replyParts = new ReplyParts();
  return {
    accepted,
    said,
    edited,
    logged,
    linked,
    settings,
    log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    fetch,
    now: Date.now,
    converse: notHere('converse'),
    readMessage: notHere('readMessage'),
    readToken: notHere('readToken'),
    streams: { start: notHere('streams'), open: notHere('streams'), stop: notHere('streams') },
    accept: async (messages) => void accepted.push(...messages),
    edit: async (message_id, text) => edited.push({ message_id, text }) > 0,
    say: async (reply_to, text, options) =>
      void said.push({ reply_to, text, message_id: options?.message_id }),
    sendParts: (...reply) => replyParts.send(...reply),
    links: {
      async link(user_id, token) {
        if (token !== GOOD_TOKEN) return { linked: false, reason: 'JWT Malformed', held: false };
        linked.set(user_id, token);
        return LINKED;
      },
      unlink: async (user_id) => linked.delete(user_id),
      unlinkPerson: notHere('unlinkPerson'),
    },
    tokens: { validate: async () => ({ valid: false, reason: 'JWT Malformed' }) },
    problem: (code, detail, errors) => new AgentdError(code, detail, errors ? { errors } : {}),
    deliveryFailed: (reason, options) => new DeliveryFailed(reason, options),
    ...members,
  };
}
