import type { Shown, SimulatedEvent } from '../../src/channel/index.ts';
import { eventsIn } from '../support/event-stream.ts';
import type { FakePlatform } from '../support/fake-platform.ts';
import { answersLatePress, isAboutGroup } from '../support/marked-texts.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { type Post, post } from '../support/webchat.ts';
import { type Person, STRANGERS } from './persons.ts';
import { conversationIn, markOf } from './record.ts';

/** A question of the daemon, as a client or a platform shows it. */
export interface Question {
  text: string;
  /** The value that the first button sends. For a web client, this is the id of the action. */
  press: string;
}

export interface Reply {
  /** The HTTP status for a web client, or 200 for a reply on a platform. */
  status: number;
  text: string;
  question: Question | null;
}

export interface Saying {
  /** The token of the message. Only web clients use it. */
  token?: string | null;
  /** The Idempotency-Key. Only webchat uses it. */
  key?: string;
  /** The question that this message answers with a button instead of text. */
  press?: Question;
  /** The actions that a web client approves with it, by their numbers in the list. Default: all of them. */
  approve?: readonly number[];
}

/** The connection between one conversation and the daemon. */
export interface Line {
  say(text: string, saying?: Saying): Promise<Reply>;
  /**
   * Somebody else tries to answer the question. Rejects if the daemon accepts the answer of a web client.
   * @param word what they write in a group
   * @returns whether they are asked something themselves now
   */
  meddle(question: Question, word: 'yes' | 'no'): Promise<boolean>;
  /**
   * The person presses the button of a question that has ended. Nobody waits for an answer. Rejects if the daemon
   * accepts it of a web client.
   */
  late(question: Question, saying: Saying): Promise<void>;
}

/** The maximum wait for a reply, in ms. */
const REPLY_MS = 180_000;

interface WebLine {
  url: string;
  conversation: number;
  channel: 'webchat' | 'sse';
  /** The id that the client chose, or null if the daemon creates an id. */
  session: string | null;
  stranger: Person;
}

export function webLine({ url, conversation, channel, session, stranger }: WebLine): Line {
  let session_id = session;
  const send = async (text: string, saying: Saying, id = session_id): Promise<Reply> => {
    const { token, key, press, approve = true } = saying;
    const confirm = press === undefined ? {} : { confirm: { id: press.press, approve } };
    const body = {
      user_id: `visitor-${conversation}`,
      ...(id === null ? {} : { session_id: id }),
      message: press === undefined ? text : '',
      metadata: { user_name: markOf(conversation), ...confirm },
    };
    const options = {
      ...(token ? { bearer: token } : {}),
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
    };
    return channel === 'webchat' ? webchat(body, options) : sse(body, options);
  };
  const webchat = async (body: object, options: Post): Promise<Reply> => {
    const answer = await post(url, body, options);
    if (answer.status !== 200) return refused(answer.status, answer.body);
    session_id = answer.body.session_id;
    return replied(answer.body.response, answer.body.metadata.confirmation);
  };
  const sse = async (body: object, options: Post): Promise<Reply> => {
    const started = await post(url, body, { ...options, path: '/sse/chat' });
    if (started.status !== 200) return refused(started.status, started.body);
    const stream = await fetch(`${url}/sse/stream/${started.body.stream_id}`);
    const text = await stream.text();
    const events = eventsIn(text);
    const end = events.find(({ event }) => event === 'complete' || event === 'error');
    if (!end || end.event === 'error') return refused(500, text);
    session_id = end.data.session_id;
    const asked = events.find(({ event }) => event === 'confirmation')?.data;
    return replied(end.data.response, asked);
  };
  return {
    say: (text, saying = {}) => send(text, saying),
    async meddle(question) {
      const { token } = stranger;
      const inIt = await send('yes', { token });
      const byId = await send('', { token, press: question }, null);
      for (const { status, text } of [inIt, byId])
        if (status === 200) throw new Error(`the answer of a stranger was accepted: ${text}`);
      return false;
    },
    async late(question, saying) {
      const { status, text } = await send('', { ...saying, press: question });
      if (status === 200) throw new Error(`the answer to a question that has ended was accepted: ${text}`);
    },
  };
}

function refused(status: number, body: unknown): Reply {
  return { status, text: JSON.stringify(body), question: null };
}

function replied(text: string, asked: { id: string; summary: string } | undefined): Reply {
  return { status: 200, text, question: asked ? { text: asked.summary, press: asked.id } : null };
}

interface PlatformLine {
  daemon: { url: string };
  platform: FakePlatform;
  /** Index in `PLATFORMS`. */
  index: number;
  conversation: number;
  place: 'direct' | 'group';
  /** Whether the run that replies also asks a question. The question is a separate message after the reply. */
  asks(): boolean;
}

export function platformLine(parts: PlatformLine): Line {
  const { daemon, platform, index, conversation, place, asks } = parts;
  const personOf = PLATFORMS[index]?.personOf ?? String;
  const user = personOf(conversation);
  const stranger = personOf(STRANGERS + conversation);
  const thread = place === 'group' ? { thread: String(conversation + 1) } : {};
  const base: Partial<SimulatedEvent> = { user, place, ...thread };
  const places = platform.simulator.seenIn(platform.event(base), platform.settings);
  /** Whether a message in the room belongs to this conversation. Late replies to earlier ones may come at any time. */
  const isOurs = ({ text, thread }: Shown) => {
    const named = conversationIn(text);
    if (named === conversation) ourThread = thread;
    return named === conversation || (named === null && (place === 'direct' || thread === ourThread));
  };
  /** How the platform names the thread, once a message has shown it. */
  let ourThread: string | undefined;
  const messages = (from: number): Shown[] =>
    platform.shown
      .slice(from)
      .filter(({ what, to }) => what === 'message' && places.includes(to))
      .filter((shown) => isOurs(shown) && !answersLatePress(shown.text) && !isAboutGroup(shown.text));
  /** Whether the last reply ended with a question. Then the next one does so too, unless its end says otherwise. */
  let isOpen = false;
  const deliver = async (event: Partial<SimulatedEvent>) => {
    const { status, text } = await platform.deliver(daemon, { ...base, ...event });
    if (status !== 200) throw new Error(`a delivery was answered ${status}: ${text}`);
  };
  const pressed = ({ press }: Question, by: string) => ({
    kind: 'press' as const,
    text: press,
    user: by,
    number: platform.event().number,
  });
  /** @param ends a reply that does not repeat the question that is open now. Null if none repeats it */
  const replyTo = async (event: Partial<SimulatedEvent>, ends: RegExp | null): Promise<Shown[]> => {
    const before = platform.shown.length;
    await deliver(event);
    const isWhole = (shown: readonly Shown[]) => {
      const end = endOf(shown, conversation);
      if (shown.some(({ buttons }) => buttons) || IN_WORDS.test(end)) return true;
      return shown.length > 0 && !asks() && (ends === null || ends.test(end));
    };
    await within(platform.until(() => isWhole(messages(before))));
    return messages(before);
  };
  return {
    async say(text, { press } = {}) {
      const shown = await replyTo(
        press ? pressed(press, user) : { text },
        isOpen && !press ? endsOf(text) : null,
      );
      const asked = shown.find(({ buttons }) => buttons);
      const [button] = asked?.buttons ?? [];
      const question = asked && button ? { text: asked.text, press: button.press } : null;
      isOpen = question !== null || IN_WORDS.test(endOf(shown, conversation));
      return { status: 200, text: shown.map((one) => one.text).join('\n'), question };
    },
    late: (question) => deliver(pressed(question, user)),
    async meddle(question, word) {
      await deliver(pressed(question, stranger));
      if (place === 'direct') return false;
      // In a group, the stranger's text is a separate message, and is answered.
      const shown = await replyTo({ text: word, user: stranger }, null);
      return shown.some(({ buttons }) => buttons) || IN_WORDS.test(endOf(shown, conversation));
    },
  };
}

/** The end of a reply to this text after which no question is open. A reply may also report other writes. */
function endsOf(text: string): RegExp {
  if (/^(?:yes|only|not) ?/.test(text)) return / – /;
  return text === 'no' ? / – (?:declined|withdrawn)/ : / – withdrawn/;
}

/** The end of a question that was too long for buttons. */
const IN_WORDS = /Answer "yes" to confirm/;

/** What the daemon itself has written at the end of a reply. A model that answers ends with the mark. */
function endOf(shown: readonly Shown[], conversation: number): string {
  const text = shown.map((one) => one.text).join('\n');
  const mark = markOf(conversation);
  const at = text.lastIndexOf(mark);
  return at < 0 ? text : text.slice(at + mark.length);
}

async function within(work: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  // When a play ends early, nobody waits for this any more.
  const timer = setTimeout(() => reject(new Error('no reply')), REPLY_MS).unref();
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
