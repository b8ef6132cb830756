import type {
  AnswerReaction,
  ChannelPlugin,
  ChannelScope,
  ChannelSettings,
  DeletedMessage,
  DeliveryFailure,
  EditedMessage,
  FieldError,
  IncomingMessage,
  JsonObject,
  PushScope,
  StreamScope,
} from '../index.ts';
import { readMessage, readToken } from '../read-message.ts';
import { ReplyParts } from '../reply-parts.ts';
import { fillIn } from '../setting.ts';

/** The members of every scope. */
export type AnyScope = StreamScope & PushScope;

/** A scope that records what the channel does with it, and gives simple answers. */
export interface RecordingScope extends StreamScope, PushScope {
  /** Messages of `enqueue`, `converse` and `streams.start`. */
  readonly enqueued: IncomingMessage[];
  /** Messages of `press`. */
  readonly pressed: IncomingMessage[];
  readonly notices: { reply_to: JsonObject; text: string; message_id: string | undefined }[];
  readonly edited: EditedMessage[];
  readonly forgotten: DeletedMessage[];
  /** Reactions of `rate`. */
  readonly rated: AnswerReaction[];
  /** The ids of messages that `sendParts` has sent. */
  readonly sent: string[];
  readonly logged: { level: string; message: string; fields: object }[];
}

/** Why the scope rejects every token. */
const NO_TOKEN = 'JWT Malformed';

/**
 * @param name the channel's name
 * @param members members that replace those of this scope
 */
export function recordingScope(
  name: string,
  settings: ChannelSettings,
  members: Partial<AnyScope> = {},
): RecordingScope {
  const enqueued: IncomingMessage[] = [];
  const pressed: IncomingMessage[] = [];
  const notices: RecordingScope['notices'] = [];
  const edited: RecordingScope['edited'] = [];
  const forgotten: RecordingScope['forgotten'] = [];
  const rated: AnswerReaction[] = [];
  const sent: string[] = [];
  const logged: RecordingScope['logged'] = [];
  const log = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, message, fields });
  const problem: ChannelScope['problem'] =
    members.problem ?? ((code, detail, errors) => new RecordedProblem(code, detail, errors));
  const toSessionId = ({ thread_id }: IncomingMessage) => thread_id ?? `${name}_conformance`;
  const replyParts = new ReplyParts();
  return {
    enqueued,
    pressed,
    notices,
    edited,
    forgotten,
    rated,
    sent,
    logged,
    settings,
    sign_in_url: null,
    simulated: false,
    log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    fetch: () =>
      Promise.reject(new TypeError('fetch failed', { cause: new Error('this scope makes no calls') })),
    now: () => Date.now(),
    async *converse(message) {
      enqueued.push(message);
      const session_id = toSessionId(message);
      yield { type: 'started', session_id };
      yield { type: 'text_chunk', text: 'Hello.' };
      yield { type: 'complete', session_id, response: 'Hello.', replayed: false };
    },
    readMessage: (request, sources) => readMessage(name, request, sources, problem),
    readToken,
    streams: {
      async start(message) {
        enqueued.push(message);
        return { stream_id: `${name}_stream`, session_id: toSessionId(message) };
      },
      open: async () => null,
      stop: async () => undefined,
    },
    async enqueue(messages) {
      enqueued.push(...messages);
      return messages.map(() => 'kept');
    },
    press: async (message) => {
      pressed.push(message);
      return { outcome: 'enqueued' };
    },
    edit: async (message) => {
      edited.push(message);
      return false;
    },
    forget: async (message) => void forgotten.push(message),
    notify: async (reply_to, text, options) =>
      void notices.push({ reply_to, text, message_id: options?.message_id }),
    say: (text, values = {}) => fillIn(text.default, values),
    translations: () => ({ languages: {}, default_locale: 'en' }),
    sendParts: (id, parts, sendPart) =>
      replyParts.send(id, parts, async (part, index) => {
        const sent_id = await sendPart(part, index);
        if (typeof sent_id === 'number') throw new TypeError('sendPart resolved to a number; ids are texts');
        if (typeof sent_id === 'string') sent.push(sent_id);
      }),
    rate: async (reaction) => rated.push(reaction) > 0,
    links: {
      link: async () => ({ linked: false, reason: NO_TOKEN, held: false }),
      takeCode: async () => false,
      unlink: async () => false,
      unlinkPerson: async () => ({ outcome: 'invalid', reason: NO_TOKEN }),
    },
    tokens: { validate: async () => ({ valid: false, reason: NO_TOKEN }) },
    problem,
    deliveryFailed: (reason, options) => new RecordedDeliveryFailure(reason, options),
    ...members,
  };
}

/** Members that only the scope of one kind of delivery has. */
const WEB = ['converse', 'readMessage', 'streams'] as const;
const PUSH = ['enqueue', 'press', 'edit', 'notify', 'sendParts', 'rate', 'deliveryFailed'] as const;

/** Creates the channel as the daemon does: its scope has only the members of its delivery. */
export function createIn<Scope extends AnyScope>(
  plugin: ChannelPlugin,
  scope: Scope,
): ReturnType<ChannelPlugin['create']> {
  const others = { push: WEB, stream: PUSH, response: [...PUSH, 'streams'] }[plugin.delivery];
  const own: Scope = { ...scope };
  for (const member of others) Reflect.deleteProperty(own, member);
  return plugin.create(own);
}

/** A problem that a channel made with `scope.problem`. */
export class RecordedProblem extends Error {
  readonly code: string;
  readonly errors: readonly FieldError[];

  constructor(code: string, detail: string, errors: readonly FieldError[] = []) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

/** An error that a channel made with `scope.deliveryFailed`. */
export class RecordedDeliveryFailure extends Error {
  readonly final: boolean;
  readonly retry_after_seconds: number | undefined;
  readonly platform: DeliveryFailure['platform'] | null;

  constructor(reason: string, { final, retry_after_seconds, platform }: DeliveryFailure) {
    super(reason);
    this.platform = platform ?? null;
    // The daemon ignores `final` if the platform as a whole has failed.
    this.final = final && this.platform === null;
    this.retry_after_seconds = retry_after_seconds;
  }
}
