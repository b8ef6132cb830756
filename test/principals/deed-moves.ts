import { outcomeIn } from '../support/marked-texts.ts';
import type { Actor } from './actors.ts';
import type { Chats } from './chats.ts';
import type { Request, Response } from './connection.ts';
import type { DeedChecker } from './deed-checker.ts';
import type { DeedMove, Streaming } from './deed-histories.ts';
import type { Business, Problem, Seen, Stopped, WebMessage } from './facts.ts';
import { deedMark, deedsIn, hasToken, marksIn } from './marks.ts';
import type { Judge } from './play.ts';
import { actedFor, linesIn, said } from './seen.ts';
import type { Stage } from './stage.ts';
import type { Who } from './tokens.ts';

type Order = Extract<DeedMove, { do: 'order' }>;
type Decide = Extract<DeedMove, { do: 'decide' }>;
type Judges = [Judge, ...Judge[]];

/** Asks for actions that need confirmation, and answers the questions about them, in a web client and on platforms. */
export class DeedMoves {
  readonly #stage: Stage;
  readonly #chats: Chats;
  /** The session of each person in a web client. */
  readonly #sessions = new Map<Who, string>();
  /** The first action of the last question of each person on each channel, and in each session. */
  readonly #questions = new Map<string, readonly string[]>();
  /** The id of each question in a web client, by its first action. */
  readonly #ids = new Map<string, string>();
  /** The rooms in which an action may be named. */
  readonly #rooms = new Map<string, { platform: string; who: Who; thread: string | null }>();
  #number = 0;

  constructor(stage: Stage, chats: Chats) {
    this.#stage = stage;
    this.#chats = chats;
  }

  act(move: DeedMove): Promise<Judge[]> {
    return move.do === 'order' ? this.#order(move) : this.#decide(move);
  }

  /** What people have read that nobody should have read. */
  audit(): Problem[] {
    const { world, number } = this.#stage;
    const questions = [...this.#chats.unexpectedQuestions()].map(
      ({ text }): Problem => ({ kind: 'question', text: `nobody should have been asked: ${text}` }),
    );
    const leaks = world.callsOf(number).named.flatMap(({ mark, platform, to, thread, line }): Problem[] => {
      const at = this.#rooms.get(mark);
      const own = at && this.#chats.roomsOf(platform, at.who);
      const isOwn = at?.platform === platform && own?.includes(to);
      const isThread = at?.thread != null && this.#chats.isThread(`${platform} ${at.thread}`, { to, thread });
      const isReceipt = ['done', 'failed', 'unknown'].includes(outcomeIn(line) ?? '');
      if (isOwn || (isThread && !isReceipt)) return [];
      return [{ kind: 'leak', text: `on ${platform}, ${to} ${thread ?? ''} has read: ${line}` }];
    });
    return [...questions, ...leaks];
  }

  async #order(move: Order): Promise<Judge[]> {
    const { who, on, shared } = move;
    const stage = this.#stage;
    const mark = stage.newMark(who);
    const deeds = move.deeds.map((outcome) => deedMark(stage.number, ++this.#number, outcome));
    const asked = stage.meanings.get(mark);
    for (const [at, deed] of deeds.entries()) stage.meanings.set(deed, `action ${at + 1} of ${asked}`);
    const text = deeds.length === 0 ? mark : `${mark} order ${deeds.join(' ')}`;
    const business = { deeds, says: null, press: null };
    if (on === 'webchat') {
      const named = this.#sessions.get(who) ?? null;
      const sent = { named, text, mark, business, overSse: move.overSse, stopAfter: move.stopAfter };
      const before = this.#questions.get(`${who} ${on} ${shared}`);
      if (deeds.length > 0) this.#questions.set(`${who} ${on} ${shared}`, deeds);
      const { judge, session_id, isStopped } = await this.#post(who, who, move.token, sent);
      // Nothing was asked.
      if (isStopped && before !== undefined) this.#questions.set(`${who} ${on} ${shared}`, before);
      if (session_id !== null) this.#sessions.set(who, session_id);
      return [judge];
    }
    if (deeds.length > 0) this.#questions.set(`${who} ${on} ${shared}`, deeds);
    const thread = shared ? String(stage.number + 1) : null;
    for (const deed of deeds) this.#rooms.set(deed, { platform: on, who, thread });
    const from = this.#chats.senderOf(who, on, 'own');
    return [await this.#chats.writeAs(from, { text, mark, thread, business })];
  }

  async #decide(move: Decide): Promise<Judge[]> {
    const { who, of, on, shared, says, by, token, here, twice } = move;
    const deeds = this.#questions.get(`${of} ${on} ${shared}`) ?? [];
    const [first] = deeds;
    const some = typeof says === 'string' ? [] : says.filter((number) => number <= deeds.length);
    const numbers = typeof says === 'string' ? says : some.length === 0 ? 'none' : some;
    if (on === 'webchat') {
      const id = by === 'button' ? this.#ids.get(first ?? '') : undefined;
      if (by === 'button' && (id === undefined || first === undefined)) return [];
      const business = {
        deeds: [],
        says: by === 'word' ? inWords(numbers).says : numbers,
        press: id ? (first as string) : null,
      };
      const named = here ? (this.#sessions.get(of) ?? null) : null;
      const text = id === undefined ? inWords(numbers).text : '';
      const confirm = id === undefined ? undefined : { id, approve: approveOf(numbers) };
      const sent = {
        named,
        text,
        mark: '',
        business,
        confirm,
        overSse: move.overSse,
        stopAfter: move.stopAfter,
      };
      const { judge } = await this.#post(who, of, token, sent);
      return [judge];
    }
    const thread = shared ? String(this.#stage.number + 1) : null;
    const from = this.#chats.senderOf(who, on, 'own');
    if (by === 'word') {
      const { text, says } = inWords(numbers);
      return this.#chats.decide(from, thread, { deeds: [], says, press: null }, { text, who, twice });
    }
    const approve = numbers !== 'none';
    const button = this.#chats.buttonOf(first ?? '', approve);
    if (button === undefined || first === undefined) return [];
    const business: Business = { deeds: [], says: approve ? 'all' : 'none', press: first };
    return this.#chats.decide(from, thread, business, { text: button, who, twice });
  }

  async #post(
    who: Who,
    of: Who,
    kind: Order['token'],
    sent: {
      named: string | null;
      text: string;
      mark: string;
      business: Business;
      confirm?: object | undefined;
    } & Streaming,
  ): Promise<{ judge: Judge; session_id: string | null; isStopped: boolean }> {
    const stage = this.#stage;
    const actor = stage.actors[who];
    const token = kind === 'none' ? undefined : actor.token(kind, stage.hour);
    const { user } = stage.actors[of];
    const { named, text, mark, business, confirm, overSse, stopAfter } = sent;
    const request: Request = {
      method: 'POST',
      path: overSse ? '/sse/chat' : '/webchat/message',
      headers: {
        'Content-Type': 'application/json',
        ...(token ? { Authorization: `Bearer ${token.text}` } : {}),
      },
      body: JSON.stringify({
        ...{ user_id: user, message: text },
        ...(named === null ? {} : { session_id: named }),
        ...(confirm ? { metadata: { confirm } } : {}),
      }),
    };
    const posted = await stage.world.request(actor.address, request);
    const { status, answer, body } =
      overSse && posted.status === 200 ? await this.#stream(actor, posted, stopAfter) : plainAnswer(posted);
    const {
      response = '',
      session_id = null,
      code = null,
      metadata = {},
      stopped: isStopped = false,
    } = answer;
    const { confirmation, actions = [], message_id } = metadata;
    const asks = deedsIn(confirmation?.summary ?? '');
    if (confirmation && asks[0] !== undefined) this.#ids.set(asks[0], confirmation.id);
    const seen: Seen = {
      ...{ status, code, session_id, marks: marksIn(body), replayed: false, hasToken: hasToken(body) },
      ...{ actedFor: actedFor(response), said: said(response), isConcurrent: stage.isConcurrent },
      told: { asks, lines: linesIn(response) },
    };
    const message: WebMessage = {
      ...{ address: actor.address, user, named, presented: stage.presented(token), mark, text },
      ...{ fails: false, calls: 1, key: null, business },
    };
    const judges = isStopped
      ? this.#afterStop(message, business, seen, message_id !== undefined)
      : this.#judges(message, business, seen);
    const [judge, ...others] = judges.map(
      (one): Judge =>
        (checker) => [...one(checker), ...receiptProblems(response, actions)],
    ) as Judges;
    if (others.length > 0) judge.orElse = others;
    return { judge, session_id, isStopped };
  }

  #judges(message: WebMessage, business: Business, seen: Seen): Judges {
    const { isConcurrent, hasSignOut } = this.#stage;
    const changed =
      (members: Partial<Business>): Judge =>
      (one) =>
        one.message({ ...message, business: { ...business, ...members } }, seen);
    const isPress = business.press !== null;
    return [
      isPress ? (one) => one.webPress(message, seen) : changed({}),
      ...(isConcurrent && isPress ? [changed({ says: null, press: null })] : []),
      ...(isConcurrent && !isPress ? [changed({ isEarly: true })] : []),
      ...(hasSignOut ? this.#afterSignOut(message, business, seen) : []),
    ];
  }

  /** Nobody can tell how far the run had come. */
  #afterStop(message: WebMessage, business: Business, seen: Seen, hasRun: boolean): Judges {
    const { isConcurrent } = this.#stage;
    const both = [true, false];
    const all = both.flatMap((hasAnswered) =>
      both.flatMap((isCarriedOut) =>
        ([0, 1] as const).map((calls): Stopped => ({ hasRun, hasAnswered, isCarriedOut, calls })),
      ),
    );
    return (isConcurrent ? [false, true] : [false]).flatMap((isEarly) => {
      const sent = { ...message, business: { ...business, isEarly } };
      return all.map(
        (stopped): Judge =>
          (one) =>
            one.stopped(sent, seen, stopped),
      );
    }) as unknown as Judges;
  }

  /** Reads the stream of a message to its end. @param stopAfter after how many ticks it is stopped, if at all */
  async #stream({ address }: Actor, { body: posted }: Response, stopAfter: number | null): Promise<Answered> {
    const { stream_id } = JSON.parse(posted) as { stream_id: string };
    const path = `/sse/stream/${stream_id}`;
    const reading = this.#stage.world.request(address, { method: 'GET', path });
    if (stopAfter !== null) {
      for (let tick = stopAfter; tick > 0; tick--) await new Promise((resolve) => setImmediate(resolve));
      await this.#stage.world.request(address, { method: 'DELETE', path });
      await this.#stage.world.runsEnded();
    }
    const { status, body } = await reading;
    return status === 200 ? streamedAnswer(body) : plainAnswer({ status, body });
  }

  /** A sign-out at the same time may keep a run from its calls, its actions from being sent, or an answer from being one. */
  #afterSignOut(message: WebMessage, business: Business, seen: Seen): Judge[] {
    const kept = (['failed', 'left out'] as const).map((kept) => ({
      ...message,
      business: { ...business, kept },
    }));
    return [
      ...[message, ...kept].map((sent) => (one: DeedChecker) => one.message(sent, seen, { calls: 0 })),
      () => askedToSignIn(seen),
    ];
  }
}

interface Answer {
  response?: string;
  session_id?: string;
  code?: string;
  /** Whether its stream was stopped before its end. */
  stopped?: boolean;
  metadata?: {
    /** Absent if nothing ran. */
    message_id?: string;
    confirmation?: { id: string; summary: string };
    actions?: { summary: string; outcome: string }[];
  };
}

interface Answered {
  status: number;
  answer: Answer;
  body: string;
}

function plainAnswer({ status, body }: Pick<Response, 'status' | 'body'>): Answered {
  return { status, answer: JSON.parse(body) as Answer, body };
}

/** The answer in the events of a stream, as webchat would give it. */
function streamedAnswer(body: string): Answered {
  const events = new Map(
    [...body.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name = '', data = '']) => [
      name,
      JSON.parse(data),
    ]),
  );
  const { code } = (events.get('error') ?? {}) as Answer;
  if (code !== undefined) return { status: STATUS_OF[code] ?? 500, answer: { code }, body };
  const { response, session_id, stopped, metadata: run } = events.get('complete') as Required<Answer>;
  const confirmation = events.get('confirmation');
  const metadata = { ...run, ...events.get('actions'), ...(confirmation ? { confirmation } : {}) };
  return { status: 200, answer: { response, session_id, stopped, metadata }, body };
}

/** The status of webchat in place of an `error` event. */
const STATUS_OF: Readonly<Record<string, number>> = { confirmation_gone: 409, session_forbidden: 403 };

/** The list of what was done must say the same as the reply. */
function receiptProblems(
  response: string,
  actions: NonNullable<Answer['metadata']>['actions'] = [],
): Problem[] {
  const listed = actions.map(({ summary, outcome }) => `${deedsIn(summary)[0] ?? summary} ${outcome}`);
  const lines = linesIn(response).filter((line) => / (?:done|failed|unknown)$/.test(line));
  const [is, should] = [listed, lines].map((list) => [...list].sort().join(', '));
  return is === should ? [] : [{ kind: 'told', text: `the list says ${is}, but the reply says ${should}` }];
}

/** The daemon has answered in place of the agent, and has named nothing. */
function askedToSignIn({ status, actedFor, marks }: Seen): Problem[] {
  const isSo = status === 200 && actedFor === undefined && marks.length === 0;
  return isSo ? [] : [{ kind: 'told', text: 'the answer was not refused' }];
}

/** An answer in words, and what it says. */
function inWords(numbers: Decide['says']): { text: string; says: Decide['says'] } {
  if (numbers === 'all') return { text: 'yes', says: 'all' };
  if (numbers === 'none') return { text: 'no', says: 'none' };
  return { text: `only ${numbers.join(' and ')}`, says: numbers };
}

function approveOf(numbers: Decide['says']): boolean | readonly number[] {
  return typeof numbers === 'string' ? numbers === 'all' : numbers;
}
