import type {
  ChannelRequest,
  ConfirmationAnswer,
  ConversationEvent,
  IncomingMessage,
  StreamEvent,
} from '../../src/channel/index.ts';
import { ACTION } from '../../src/daemon/store/actions/action-document.ts';
import { MESSAGE } from '../../src/daemon/store/inbox/inbox-document.ts';
import { SEEN } from '../../src/daemon/store/inbox/seen.ts';
import { STREAM } from '../../src/daemon/store/streams.ts';
import { isLast } from '../../src/daemon/stream/events.ts';
import type { Response, Scopes } from './daemon.ts';
import { DAEMONS, type DaemonName, type PlannedMessage, type Room } from './scenario.ts';
import { Actor } from './scheduler.ts';
import { brief } from './trace.ts';
import type { World } from './world.ts';

/** The outcome of a message, as far as its client knows. */
export type Fate =
  | { is: 'open' }
  /** The reply, as the client got it. */
  | { is: 'answered'; reply: string; isStopped: boolean }
  /** A stream ended in this error. */
  | { is: 'failed'; code: string }
  /** The message was refused permanently with this code, or the client gave up. */
  | { is: 'refused'; code: string }
  /** The daemon has acknowledged the message to the platform. */
  | { is: 'accepted' };

/** Codes after which a client sends the same message again. */
const AGAIN: readonly string[] = [
  'unavailable',
  'duplicate_in_progress',
  'agent_failed',
  'agent_timeout',
  'interrupted',
];
/** How many times a client sends a message that the model refuses. */
const REFUSED_TRIES = 2;
/** How long a client waits before it tries again, ms. */
const AGAIN_MS = 1500;

/** All senders: web clients that retry, and a platform that delivers each message until it is acknowledged. */
export class Clients {
  readonly fates = new Map<string, Fate>();
  readonly #world: World;
  /** The session ids that clients know, for rooms where the daemon names the session. */
  readonly #sessions = new Map<Room, string>();
  readonly #ended = new Map<string, PromiseWithResolvers<void>>();
  readonly #open = new Set<string>();
  /** Messages that the platform has delivered, or tried to deliver, at least once. */
  readonly #delivered: IncomingMessage[] = [];
  /** Replies that clients got, by label. */
  readonly replies = new Map<string, Set<string>>();

  constructor(world: World) {
    this.#world = world;
  }

  /** True if no client is waiting for an answer. */
  get areDone(): boolean {
    return this.#open.size === 0;
  }

  get waiting(): string[] {
    return [...this.#open];
  }

  /** Plans the actions of a client, which begin when the message is due. */
  plan(message: PlannedMessage, previous: PlannedMessage | null): void {
    const { scheduler } = this.#world;
    this.fates.set(message.label, { is: 'open' });
    this.#ended.set(message.label, Promise.withResolvers());
    this.#open.add(message.label);
    const actor = new Actor('—');
    const write = async () => {
      if (message.waits && previous) await this.#ended.get(previous.label)?.promise;
      const fate = await this.#write(message, actor);
      this.#world.trace.note(message.person, () => `${message.label} ${brief(fate)}`);
      this.fates.set(message.label, fate);
      this.#open.delete(message.label);
      this.#ended.get(message.label)?.resolve();
    };
    scheduler.add(actor, message.at, () => void this.#world.about(message.label, write));
  }

  async #write(message: PlannedMessage, actor: Actor): Promise<Fate> {
    if (!message.both) return this.#writeAt(message, actor);
    const door = message.door === 'chat' ? 'feed' : 'chat';
    const thread_id = this.#threadOf(message);
    const [fate, other] = await Promise.all([
      this.#writeAt(message, actor, thread_id),
      this.#writeAt({ ...message, door, stops: null }, actor, thread_id),
    ]);
    return fate.is === 'answered' ? other : fate;
  }

  #writeAt(message: PlannedMessage, actor: Actor, thread_id = this.#threadOf(message)): Promise<Fate> {
    switch (message.door) {
      case 'chat':
        return this.#chat(message, actor, thread_id);
      case 'feed':
        return this.#feed(message, actor, thread_id);
      case 'post':
        return this.#post(message, actor, thread_id);
    }
  }

  async #chat(message: PlannedMessage, actor: Actor, thread_id: string | null): Promise<Fate> {
    const sent = this.#incoming(message, thread_id);
    const end = await this.#until(message, actor, message.key, sent.thread_id, ({ chat }, request) =>
      this.#read(message, chat.converse(sent, request)),
    );
    if (end.is !== 'answered') return end;
    const { session_id, response } = end.value;
    this.#sessions.set(message.room, session_id);
    this.#checkStored(message, response);
    return { is: 'answered', reply: response, isStopped: false };
  }

  async #read(message: PlannedMessage, events: AsyncIterable<ConversationEvent>): Promise<Complete> {
    let text = '';
    for await (const event of events) {
      if (event.type === 'text_chunk') text += event.text;
      if (event.type !== 'complete') continue;
      if (!event.replayed && text !== event.response)
        this.#world.report(`${message.label}: the pieces "${text}" are not the reply "${event.response}"`);
      return event;
    }
    throw new Error('a conversation ended without its last event');
  }

  async #feed(message: PlannedMessage, actor: Actor, thread_id: string | null): Promise<Fate> {
    const sent = this.#incoming(message, thread_id);
    for (;;) {
      const started = await this.#until(message, actor, true, sent.thread_id, ({ feed }, request) =>
        feed.streams.start(sent, request, { ttl_ms: 3_600_000 }),
      );
      if (started.is !== 'answered') return started;
      const { stream_id } = started.value;
      const { stops } = message;
      if (stops !== null)
        this.#world.scheduler.add(actor, stops, () => void this.#stop(message, actor, stream_id));
      const readers = Array.from({ length: message.copies }, () => this.#follow(message, actor, stream_id));
      const [fate] = await Promise.all(readers);
      if (fate?.is !== 'failed' || !message.key || !AGAIN.includes(fate.code) || message.agent === 'refused')
        return fate as Fate;
    }
  }

  /** Reads a stream to its end, from any daemon that runs. */
  async #follow(message: PlannedMessage, actor: Actor, stream_id: string): Promise<Fate> {
    const { state, report, random } = this.#world;
    const seen: StreamEvent[] = [];
    const take = (events: readonly StreamEvent[]) => {
      for (const event of events) {
        const stored = state.items(STREAM, stream_id)[event.id - 1];
        if (event.id !== seen.length + 1)
          report(`${message.label}: event ${event.id} was read after ${seen.length}`);
        if (stored?.data !== event.data)
          report(`${message.label}: event ${event.id} was read, but differs from the stored event`);
        seen.push(event);
      }
      return true;
    };
    while (!seen.some(isLast)) {
      const opened = await this.#until(message, actor, true, null, async ({ feed }, request) => {
        const stream = await feed.streams.open(stream_id, request, {
          tokens: { ambient: [], explicit: undefined, required: false },
          after: seen.length,
        });
        if (stream === null) {
          if (!seen.some(isLast))
            report(`${message.label}: its stream has ended, but its last event was not read`);
          return;
        }
        // Some readers disconnect in the middle of the stream, and reconnect.
        const gone = new AbortController();
        if (random.chance(0.1)) this.#world.scheduler.add(actor, random.below(2000), () => gone.abort());
        const signal = AbortSignal.any([request.signal, gone.signal]);
        await stream.follow({ take, room: () => Promise.resolve(), signal });
      });
      if (opened.is !== 'answered') return opened;
    }
    return this.#endOf(message, seen);
  }

  #endOf(message: PlannedMessage, events: readonly StreamEvent[]): Fate {
    const last = events.at(-1) as StreamEvent;
    const data = JSON.parse(last.data) as {
      code: string;
      response: string;
      session_id: string;
      stopped?: true;
    };
    if (last.event === 'error') return { is: 'failed', code: data.code };
    const text = events
      .filter(({ event }) => event === 'text_chunk')
      .map((event) => (JSON.parse(event.data) as { text: string }).text)
      .join('');
    const { label, room } = message;
    if (text !== data.response)
      this.#world.report(`${label}: the pieces "${text}" are not the reply "${data.response}"`);
    if (!data.stopped) this.#checkStored(message, data.response);
    else if (message.stops === null)
      this.#world.report(`${label}: it was stopped, but nobody had asked for that`);
    this.#sessions.set(room, data.session_id);
    return { is: 'answered', reply: data.response, isStopped: data.stopped === true };
  }

  async #stop(message: PlannedMessage, actor: Actor, stream_id: string): Promise<void> {
    await this.#until(message, actor, true, null, ({ feed }, request) =>
      feed.streams.stop(stream_id, request, {
        tokens: { ambient: [], explicit: undefined, required: false },
      }),
    );
  }

  async #post(message: PlannedMessage, actor: Actor, thread_id: string | null): Promise<Fate> {
    const { state, random, scheduler } = this.#world;
    const sent = this.#incoming(message, thread_id);
    for (let copy = 0; copy < message.copies; copy++) {
      if (copy > 0) await scheduler.point(actor, random.below(3000));
      const batch = this.#batchOf(sent);
      const end = await this.#until(message, actor, true, sent.thread_id, ({ post }, request) =>
        post.enqueue(batch, request),
      );
      if (end.is !== 'answered') return end;
      const seen = state.get(SEEN, JSON.stringify(['post', message.label]));
      const isBlocked = seen?.verdict?.allowed === false;
      if (!isBlocked && !(seen?.id && state.get(MESSAGE, seen.id)))
        this.#world.report(`${message.label} was accepted, but is not in the inbox`);
    }
    return { is: 'accepted' };
  }

  /** A delivery of the platform: the message, and perhaps earlier messages that the platform delivers again. */
  #batchOf(sent: IncomingMessage): IncomingMessage[] {
    const { random } = this.#world;
    const others = this.#delivered.filter((one) => one !== sent && random.chance(0.15));
    if (!this.#delivered.includes(sent)) this.#delivered.push(sent);
    return [...others, sent];
  }

  /**
   * Sends a request until it is answered, or refused permanently.
   * @param isSafe whether the request may be sent again if an earlier try may have had an effect
   */
  async #until<T>(
    message: PlannedMessage,
    actor: Actor,
    isSafe: boolean,
    thread: string | null,
    handle: (scopes: Scopes, request: ChannelRequest) => Promise<T>,
  ): Promise<{ is: 'answered'; value: T } | { is: 'refused'; code: string }> {
    const { scheduler, random, hosts, faults } = this.#world;
    let to: DaemonName = message.daemon;
    for (let failed = 0; ; ) {
      await scheduler.point(actor, random.below(20));
      const gone = new AbortController();
      const { leaves, label } = message;
      if (leaves !== null && !faults.isCalm) scheduler.add(actor, leaves, () => gone.abort());
      const token = message.signed ? this.#world.tokenOf(message.person) : null;
      const left = new Promise<Response<T>>((resolve) => {
        gone.signal.addEventListener('abort', () => resolve({ is: 'lost' }));
      });
      const daemon = hosts[to].daemon;
      const request = daemon?.request({ door: message.door, thread, token, gone: gone.signal }, handle);
      const end: Response<T> = request ? await Promise.race([request, left]) : { is: 'refused' };
      if (end.is !== 'answered')
        this.#world.trace.note(
          message.person,
          () => `${label} at ${to}: ${end.is === 'problem' ? end.error.code : end.is}`,
        );
      if (end.is === 'problem') this.#checkProblem(message, end.error.code);
      // This includes a reader that disconnected: `#follow` opens the stream again where the reader stopped.
      if (end.is === 'answered') return end;
      if (end.is === 'problem' && !AGAIN.includes(end.error.code))
        return { is: 'refused', code: end.error.code };
      const mayHaveRun =
        end.is === 'lost' || (end.is === 'problem' && end.error.code !== 'duplicate_in_progress');
      if (mayHaveRun && !isSafe)
        return { is: 'refused', code: end.is === 'problem' ? end.error.code : 'lost' };
      if (
        end.is === 'problem' &&
        end.error.code === 'agent_failed' &&
        message.agent === 'refused' &&
        ++failed >= REFUSED_TRIES
      )
        return { is: 'refused', code: 'agent_failed' };
      if (random.chance(0.5)) to = random.pick(DAEMONS);
      await scheduler.point(actor, AGAIN_MS);
    }
  }

  /** Checks that there was a reason for the problem that the daemon answered with. */
  #checkProblem({ label, agent }: PlannedMessage, code: string): void {
    const { struck, report } = this.#world;
    const mayFail = agent === 'passing' || agent === 'broken' || agent === 'refused';
    const isRight = code === 'agent_failed' ? mayFail : code !== 'unavailable' && code !== 'agent_timeout';
    if (struck.length === 0 && !isRight) report(`${label} was refused for no reason: ${code}`);
  }

  /** Checks that the answer that a client got is also stored. */
  #checkStored({ label }: PlannedMessage, reply: string): void {
    const { record, report } = this.#world;
    if (!record.answersOf(label).some((commit) => commit.record.reply === reply))
      report(`${label} was answered with "${reply}", which is not stored`);
    const known = this.replies.get(label) ?? new Set();
    this.replies.set(label, known.add(reply));
  }

  #threadOf({ room, door }: PlannedMessage): string | null {
    if (room.is === 'begun') return this.#sessions.get(room) ?? null;
    return door === 'post' ? `post:${room.name}` : room.name;
  }

  /** Presses a button of the latest question about the message `label`, even if the question is no longer open. */
  #press(
    { person }: PlannedMessage,
    { label, approve }: NonNullable<PlannedMessage['presses']>,
  ): ConfirmationAnswer {
    const { state, presses } = this.#world;
    const asked = state
      .all(ACTION)
      .findLast(({ action }) => action.principal !== null && action.args.includes(`"${label}"`));
    const id = asked?.action.action_id ?? 'none';
    presses.push({ id, approve, person });
    return { id, approve };
  }

  /** The message as its channel passes it to the daemon. */
  #incoming(message: PlannedMessage, thread_id: string | null): IncomingMessage {
    const { label, door, room, person, agent, key, signed, presses } = message;
    const isPlatform = door === 'post';
    return {
      platform: door,
      user_id: person,
      channel_id: room.name,
      thread_id,
      text: `${label} ${agent}`,
      metadata: signed ? { jwt_token: this.#world.tokenOf(person) } : {},
      ...(key ? { message_id: label } : {}),
      ...(isPlatform ? { reply_to: { room: room.name }, sent_at: this.#world.scheduler.now } : {}),
      ...(room.is === 'thread' ? { shared: true } : {}),
      ...(presses ? { confirm: this.#press(message, presses) } : {}),
    };
  }
}

type Complete = Extract<ConversationEvent, { type: 'complete' }>;
