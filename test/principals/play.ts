import { userOf } from '../../plugins/phonechat/simulator.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { Actor, POSTING, READING } from './actors.ts';
import { Checker, type Presented, type Problem, type Seen, type WebMessage } from './checker.ts';
import type { Brought, History, Move, Opening, Ref, SessionChoice } from './histories.ts';
import { dataMark, hasToken, marksIn, messageMark } from './marks.ts';
import { emailOf, nameOf, PERSONS, type Token, type Who } from './tokens.ts';
import type { World } from './world.ts';

export interface Played {
  problems: readonly Problem[];
  /** The index of the move that showed the problem, or -1 if only the whole history showed it. */
  at: number;
  /** What the marks in the problems stand for. */
  meanings: ReadonlyMap<string, string>;
}

/** Compares one operation with the rules. Concurrent operations are tried in every order. */
interface Judge {
  (checker: Checker): Problem[];
  /** Other possible results of an operation that was cut off. No order of complete operations explains them. */
  orElse?: readonly Judge[];
}

/** Waits until all other histories of the batch have ended or have reached the same point. */
export type Interval = () => Promise<'restart' | 'hour'>;

/** The last number of a message on a platform. The numbers must differ in all histories of a process. */
let lastNumber = 0;

/**
 * Plays a history, and compares each answer with the rules. Stops at the first problem.
 * @param number identifies the history in this world, and is part of the names of its people
 */
export async function play(
  world: World,
  history: History,
  number: number,
  interval: Interval,
): Promise<Played> {
  const player = new Player(world, number, history.hasCookie);
  try {
    for (const [at, move] of history.moves.entries()) {
      const problems = move.do === 'interval' ? player.pass(await interval()) : await player.make(move);
      if (problems.length > 0) return { problems, at, meanings: player.meanings };
    }
    return { problems: player.audit(), at: -1, meanings: player.meanings };
  } finally {
    world.forget(number);
  }
}

class Player {
  readonly meanings = new Map<string, string>();
  readonly #world: World;
  readonly #number: number;
  readonly #actors: Readonly<Record<Who, Actor>>;
  readonly #opened = new Set<string>();
  readonly #threads = new Map<string, string | null>();
  /** The possible states. There may be several, because the order of concurrent moves is unknown. */
  #states: Checker[];
  #messages = 0;
  #isConcurrent = false;

  constructor(world: World, number: number, hasCookie: boolean) {
    this.#world = world;
    this.#number = number;
    this.#actors = { attacker: new Actor(number, 'attacker'), victim: new Actor(number, 'victim') };
    this.#states = [
      new Checker({
        nameOf: (person) => nameOf(number, person),
        dataOf: (person) => dataMark(number, person),
      }),
    ];
    this.meanings.set(dataMark(number, 'attacker'), "the attacker's data");
    this.meanings.set(dataMark(number, 'victim'), "the victim's data");
    this.meanings.set(dataMark(number, 'tenant'), "the data of the attacker's person at the other tenant");
    if (!hasCookie) return;
    const { victim } = this.#actors;
    victim.cookies = [{ token: victim.token('own', 0), ends: 1, isPlanted: false }];
  }

  async make(move: Move): Promise<Problem[]> {
    this.#isConcurrent = move.do === 'race';
    const moves = move.do === 'race' ? move.moves : [move];
    return this.#judge(await Promise.all(moves.map((one) => this.#act(one))));
  }

  pass(what: 'restart' | 'hour'): Problem[] {
    if (what === 'hour') for (const state of this.#states) state.passHour();
    return [];
  }

  /** Checks at the end how often each person's token was used. */
  audit(): Problem[] {
    const { byPerson, refused } = this.#world.callsOf(this.#number);
    const problems = this.#states.map((state) =>
      PERSONS.flatMap((person): Problem[] => {
        const [seen, expected] = [byPerson.get(person) ?? 0, state.calls.get(person) ?? 0];
        const text = `the business API was called ${seen} times as ${person}, but should have been called ${expected} times`;
        return seen === expected ? [] : [{ kind: 'identity', text }];
      }),
    );
    const accepted = problems.find((found) => found.length === 0) ?? problems[0] ?? [];
    return [
      ...accepted,
      ...refused.map(
        (): Problem => ({ kind: 'identity', text: 'the business API got a token that belongs to nobody' }),
      ),
    ];
  }

  /**
   * Operations in one list happened in the order of the list. Operations in different lists may have happened in any
   * order.
   */
  #judge(lists: readonly (readonly Judge[])[]): Problem[] {
    let first: Problem[] | null = null;
    const accepted = new Map<string, Checker>();
    const isCertain = lists.length === 1 && this.#states.length === 1;
    for (const state of this.#states) {
      for (const order of [...interleavings(lists)].flatMap((order) => [...alternatives(order)])) {
        const checker = isCertain ? state : state.copy();
        const problems = problemsIn(order, checker);
        if (problems.length === 0) accepted.set(isCertain ? '' : checker.fingerprint, checker);
        else first ??= problems;
      }
    }
    if (accepted.size === 0) return first ?? [];
    this.#states = [...accepted.values()];
    return [];
  }

  async #act(move: Move): Promise<Judge[]> {
    switch (move.do) {
      case 'say':
        return move.via === 'webchat' ? [await this.#post(move)] : this.#ask(move);
      case 'open':
      case 'stop': {
        const { who, stream, opening } = move;
        const id = this.#pick('streams', who, stream);
        if (id === null) return [];
        return [await this.#read(who, id, opening, move.do === 'stop' ? 'DELETE' : 'GET')];
      }
      case 'lure':
        return [await this.#lure(move.text)];
      case 'plant': {
        const { attacker, victim } = this.#actors;
        const planted = { token: attacker.token('own', this.#hour), ends: this.#hour + 1 };
        victim.cookies = move.beside
          ? [...victim.cookies, { ...planted, isPlanted: true }]
          : [{ ...planted, isPlanted: false }];
        return [];
      }
      case 'write':
        return [await this.#write(move)];
      case 'link':
        return [await this.#link(move)];
      case 'race':
      case 'interval':
        throw new Error(`a ${move.do} within a race`);
    }
  }

  get #hour(): number {
    return this.#states[0]?.hour ?? 0;
  }

  // Over the web

  /** Makes the message, the request that contains it, and its description for the checker. */
  #compose(move: Extract<Move, { do: 'say' }>) {
    const actor = this.#actors[move.who];
    const earlier = move.key === 'again' || move.key === 'reuse' ? actor.keyed : null;
    const repeated = move.key === 'again' ? earlier : null;
    const mark = repeated?.mark ?? this.#newMark(move.who);
    const asked = move.asks
      ? ` look up ${emailOf(this.#number, move.who === 'victim' ? 'attacker' : 'victim')}`
      : '';
    const text = repeated?.text ?? `${mark}${asked}${move.fails ? ' fail' : ''}`;
    const user = repeated?.user ?? this.#actors[move.user].user;
    const named = repeated ? repeated.named : this.#session(move.who, move.session);
    const key = move.key === 'none' ? null : (earlier?.key ?? `${mark}-key`);
    const fails = repeated?.fails ?? move.fails;
    if (key !== null && !earlier) actor.keyed = { key, user, named, text, mark, fails };

    const { headers, body, presented, token } = this.#bring(actor, move);
    const manner = POSTING[move.as];
    const cookies = manner.hasCookie ? actor.cookiesAt(this.#hour) : [];
    const request = {
      method: 'POST',
      path: move.via === 'webchat' ? '/webchat/message' : '/sse/chat',
      headers: {
        'Content-Type': 'application/json',
        ...manner.headers,
        ...headers,
        ...cookieHeader(cookies),
        ...(key === null ? {} : { 'Idempotency-Key': key }),
      },
      body: JSON.stringify({
        user_id: user,
        message: text,
        ...(named === null ? {} : { session_id: named }),
        ...body,
      }),
    } as const;
    const message: WebMessage = {
      address: actor.address,
      user,
      named,
      presented,
      mark,
      text,
      fails,
      calls: text.includes(' look up ') ? 2 : 1,
      key,
    };
    return { actor, request, message, token, cookies };
  }

  async #post(move: Extract<Move, { do: 'say' }>): Promise<Judge> {
    const { actor, request, message } = this.#compose(move);
    const { status, headers, body } = await this.#world.request(actor.address, request);
    const answer = JSON.parse(body) as { response?: string; session_id?: string; code?: string };
    const { response = '', session_id = null, code = null } = answer;
    const seen: Seen = {
      status,
      code,
      session_id,
      marks: marksIn(response),
      actedFor: actedFor(response),
      said: said(response),
      replayed: headers.get('idempotency-replayed') === 'true',
      hasToken: hasToken(body),
      isConcurrent: this.#isConcurrent,
    };
    if (session_id !== null) actor.learnSession(session_id);
    return (checker) => checker.message(message, seen);
  }

  async #ask(move: Extract<Move, { do: 'say' }>): Promise<Judge[]> {
    const { actor, request, message, token, cookies } = this.#compose(move);
    const { status, headers, body } = await this.#world.request(actor.address, request);
    const { stream_id: stream = null, code = null } = JSON.parse(body) as Record<string, string | undefined>;
    const cookie = headers.get('set-cookie') ?? null;
    const personOfCookie = presentedBy(cookies.length === 1 ? cookies[0] : undefined, this.#hour);
    const streamed = {
      ...message,
      cookie: personOfCookie.kind === 'person' ? personOfCookie.person : null,
    };
    const isConcurrent = this.#isConcurrent;
    const asked: Judge = (checker) => {
      const problems = checker.ask(streamed, { status, code, stream, isConcurrent });
      if (problems.length > 0 || status !== 200) return problems;
      return setsCookie(cookie, token) ? [] : [{ kind: 'session', text: `Set-Cookie was ${cookie}` }];
    };
    if (stream === null) return [asked];
    actor.learnStream(stream);
    if (cookie !== null && request.headers) this.#takeCookie(move, cookie);
    if (move.opening === null) return [asked];
    return [asked, await this.#read(move.who, stream, move.opening, 'GET')];
  }

  #takeCookie({ who, as }: Extract<Move, { do: 'say' }>, cookie: string): void {
    if (POSTING[as].hasCookie) this.#actors[who].takeCookie(cookie, this.#hour);
  }

  async #read(
    who: Who,
    stream: string,
    { as, query, after }: Opening,
    method: 'GET' | 'DELETE',
  ): Promise<Judge> {
    const actor = this.#actors[who];
    const manner = READING[as];
    const cookies = manner.hasCookie ? actor.cookiesAt(this.#hour) : [];
    const token = query === 'none' ? undefined : actor.token(query, this.#hour);
    const last = lastEventId(after, !this.#isConcurrent && this.#opened.has(stream));
    const { status, body } = await this.#world.request(actor.address, {
      method,
      path: `/sse/stream/${stream}${token ? `?token=${token.text}` : ''}`,
      headers: {
        ...manner.headers,
        ...cookieHeader(cookies),
        ...(last === null ? {} : { 'Last-Event-ID': String(last) }),
      },
    });
    if (status === 200) this.#opened.add(stream);
    const found = status === 200 ? foundInEvents(body) : foundInProblem(body);
    const seen: Seen = {
      ...found,
      status,
      marks: marksIn(body),
      replayed: false,
      hasToken: hasToken(body),
      isConcurrent: this.#isConcurrent,
    };
    if (seen.session_id !== null) actor.learnSession(seen.session_id);
    const request = {
      stream,
      method,
      isForeign: manner.isForeign === 'with-cookie' ? cookies.length > 0 : manner.isForeign,
      cookie: presentedBy(cookies.length === 1 ? cookies[0] : undefined, this.#hour),
      query: presentedBy(token, this.#hour),
      after: last,
    };
    const judge: Judge = (checker) => checker.stream(request, seen);
    if (method === 'GET' && this.#isConcurrent) {
      judge.orElse = (['before-calls', 'after-calls'] as const).map(
        (cutOff) => (checker: Checker) => checker.stream(request, seen, cutOff),
      );
    }
    return judge;
  }

  /**
   * Sends a request as a form on a foreign site can send it: with a body that looks like JSON, and without a cookie.
   */
  async #lure(text: string): Promise<Judge> {
    const { victim } = this.#actors;
    const { status } = await this.#world.request(victim.address, {
      method: 'POST',
      path: '/sse/chat',
      headers: {
        Origin: 'https://evil.example',
        'Content-Type': 'text/plain',
        'Sec-Fetch-Site': 'cross-site',
        'Sec-Fetch-Mode': 'navigate',
        'Sec-Fetch-Dest': 'document',
      },
      body: JSON.stringify({ user_id: victim.user, message: text }),
    });
    return () =>
      status === 415
        ? []
        : [{ kind: 'not refused', text: `the form of a foreign site was answered ${status}` }];
  }

  /** Returns the parts of the request that contain the token, and the description of the token for the checker. */
  #bring(actor: Actor, { token: brought, place, via }: { token: Brought; place: string; via: string }) {
    const nothing = { headers: {}, body: {} };
    if (brought === 'none') return { ...nothing, presented: NOTHING, token: undefined };
    if (brought === 'empty')
      return { ...nothing, body: { jwt_token: '' }, presented: NOTHING, token: undefined };
    if (brought === 'null') {
      const presented: Presented = { kind: 'signed-out' };
      return { ...nothing, body: { jwt_token: null }, presented, token: null };
    }
    const token = actor.token(brought, this.#hour);
    const presented = presentedBy(token, this.#hour);
    if (place === 'header')
      return { ...nothing, headers: { Authorization: `Bearer ${token.text}` }, presented, token };
    if (place === 'metadata' && via === 'webchat')
      return { ...nothing, body: { metadata: { jwt_token: token.text } }, presented, token };
    return { ...nothing, body: { jwt_token: token.text }, presented, token };
  }

  // On platforms

  async #write(move: Extract<Move, { do: 'write' }>): Promise<Judge> {
    const { who, platform, shared, sender } = move;
    const mark = this.#newMark(who);
    const { simulator, settings } = this.#platform(platform);
    const number = this.#idOn(platform, sender === 'recycled' ? 'victim' : who);
    const alias = platform === 'phonechat' ? this.#otherIdOf(who, sender) : null;
    const user = sender === 'hidden' && alias !== null ? alias : number;
    const thread = shared ? String(this.#number + 1) : null;
    const event = {
      kind: 'message',
      user,
      text: mark,
      place: shared ? 'group' : 'direct',
      ...(thread === null ? {} : { thread }),
      number: ++lastNumber,
      sent_at: Date.now(),
    } as const;
    let request = simulator.delivery(event, settings);
    if (alias !== null && user !== alias) {
      const body = request.body.replaceAll(userOf(number).user_id, alias);
      request = simulator.sign?.({ ...request, body }, settings) ?? request;
    }
    const { reply, cancel } = this.#world.replyTo(mark);
    const { status } = await this.#world.deliver(request);
    if (status !== 200) cancel();
    const delivered = status === 200 ? await reply : null;
    const message = { platform, user, alias: user === alias ? null : alias, thread, mark };
    if (delivered === null) return (checker) => checker.platformMessage(message, null);
    const { to, text } = delivered;
    const seen: Seen = {
      status,
      code: null,
      session_id: null,
      marks: marksIn(text),
      actedFor: actedFor(text),
      said: said(text),
      replayed: false,
      hasToken: hasToken(text),
      isConcurrent: this.#isConcurrent,
    };
    const room = simulator.seenIn(event, settings)[0];
    const isElsewhere = to !== room || !this.#isItsThread(`${platform} ${thread}`, delivered.thread);
    return (checker) =>
      isElsewhere
        ? [{ kind: 'leak', text: `the reply was sent to ${to} instead of ${room}` }]
        : checker.platformMessage(message, seen);
  }

  /** Whether a reply was sent to the right thread. The first reply shows how the platform names the thread. */
  #isItsThread(thread: string, seen: string | null): boolean {
    const known = this.#threads.get(thread);
    if (known === undefined) this.#threads.set(thread, seen);
    return known === undefined || known === seen;
  }

  async #link({ who, platform, token: kind, target, off }: Extract<Move, { do: 'link' }>): Promise<Judge> {
    const actor = this.#actors[who];
    const token = actor.token(kind, this.#hour);
    const isPhone = platform === 'phonechat';
    const user = this.#idOn(platform, isPhone ? target : who);
    const linked = isPhone
      ? await this.#linkNumber(actor, user, token, off)
      : await this.#linkByCommand(platform, user, off ? 'off' : token.text);
    const change = {
      platform,
      user,
      presented: presentedBy(token, this.#hour),
      off,
      keepsHolder: isPhone,
      needsToken: isPhone,
    };
    return (checker) => checker.link(change, linked);
  }

  async #linkNumber({ address }: Actor, number: string, token: Token, off: boolean): Promise<boolean> {
    const { status } = await this.#world.request(address, {
      method: off ? 'DELETE' : 'POST',
      path: `/phonechat/link${off ? `?phone_number=${encodeURIComponent(number)}` : ''}`,
      headers: {
        Authorization: `Bearer ${token.text}`,
        ...(off ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(off ? {} : { body: JSON.stringify({ phone_number: number }) }),
    });
    return status === 200;
  }

  /** Returns null if the answer to the command does not say whether it was done. */
  async #linkByCommand(platform: string, user: string, argument: string): Promise<boolean | null> {
    const { simulator, settings } = this.#platform(platform);
    const command = platform === 'teamchat' ? '/service-auth' : '/service_auth';
    const request = simulator.delivery(
      {
        kind: 'command',
        user,
        text: `${command} ${argument}`,
        place: 'direct',
        number: ++lastNumber,
        sent_at: Date.now(),
      },
      settings,
    );
    const { body } = await this.#world.deliver(request);
    const [shown] = simulator.shownOf?.({ status: 200, body }) ?? [];
    // On a busy machine a command may take longer than the platform waits.
    return shown && !shown.text.includes('I do not know whether it was done')
      ? shown.text.startsWith('✅')
      : null;
  }

  #platform(name: string) {
    const platform = this.#world.platforms.get(name);
    if (!platform) throw new Error(`there is no platform ${name}`);
    return platform;
  }

  #idOn(platform: string, who: Who): string {
    const number = this.#number * 2 + (who === 'victim' ? 1 : 0);
    return PLATFORMS.find(({ plugin }) => plugin.name === platform)?.personOf(number) ?? '';
  }

  /**
   * Returns the business-scoped id of a sender. Each number has one id, and the new owner of a recycled number has a
   * different id.
   */
  #otherIdOf(who: Who, sender: 'own' | 'recycled' | 'hidden'): string {
    const isNewHolder = sender === 'recycled' || (sender === 'hidden' && who === 'attacker');
    return isNewHolder ? `US.77${this.#number}` : userOf(this.#idOn('phonechat', who)).user_id;
  }

  // Ids

  #newMark(who: Who): string {
    const mark = messageMark(this.#number, ++this.#messages);
    this.meanings.set(mark, `a message of the ${who} (number ${this.#messages})`);
    return mark;
  }

  #session(who: Who, choice: SessionChoice): string | null {
    switch (choice.is) {
      case 'none':
        return null;
      case 'chosen':
        return `room-${choice.number}-${this.#number}`;
      case 'channel':
        return `teamchat:T0SIMULATE:D${this.#number}`;
      case 'known':
        return this.#pick('sessions', who, choice.ref);
    }
  }

  /** Returns the selected id. If it is an id of the other principal, it has leaked, and `who` knows it from now on. */
  #pick(what: 'sessions' | 'streams', who: Who, { of, back }: Ref): string | null {
    const ids = this.#actors[of][what];
    const id = ids.at(-1 - (back % Math.max(1, ids.length)));
    if (id === undefined) return null;
    const actor = this.#actors[who];
    if (what === 'sessions') actor.learnSession(id);
    else actor.learnStream(id);
    return id;
  }
}

/** Returns the problems of the first operation that has problems. */
function problemsIn(order: readonly Judge[], checker: Checker): Problem[] {
  for (const judge of order) {
    const problems = judge(checker);
    if (problems.length > 0) return problems;
  }
  return [];
}

const NOTHING: Presented = { kind: 'none' };

function presentedBy(token: Token | undefined, hour: number): Presented {
  if (!token) return NOTHING;
  const { person, expires } = token;
  if (person === null) return { kind: 'invalid', expired: null };
  return expires > hour ? { kind: 'person', person, expires } : { kind: 'invalid', expired: person };
}

function cookieHeader(cookies: readonly Token[]): Record<string, string> {
  return cookies.length === 0 ? {} : { Cookie: cookies.map(({ text }) => `jwt_token=${text}`).join('; ') };
}

/** @param token null if signed out, undefined if the message had none */
function setsCookie(header: string | null, token: Token | null | undefined): boolean {
  if (token === undefined) return header === null;
  return header?.startsWith(token === null ? 'jwt_token=;' : `jwt_token=${token.text};`) ?? false;
}

function lastEventId(after: Opening['after'], isRead: boolean): number | null {
  if (after === 'none' || !isRead) return null;
  return after === 'all' ? 9999 : 1;
}

function actedFor(reply: string): string | null | undefined {
  const who = /^\S+ for (\S+):/.exec(reply)?.[1];
  return who === 'nobody' ? null : who;
}

function said(reply: string): string[] {
  return marksIn(/; said (.*)$/s.exec(reply)?.[1] ?? '');
}

type Found = Pick<Seen, 'code' | 'session_id' | 'actedFor' | 'said'>;

function foundInProblem(body: string): Found {
  const { code = null } = (body === '' ? {} : JSON.parse(body)) as { code?: string };
  return { code, session_id: null, actedFor: undefined, said: [] };
}

function foundInEvents(body: string): Found {
  const events = [...body.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name, data = '']) => ({
    name,
    data: JSON.parse(data) as Record<string, string | boolean>,
  }));
  const last = events.at(-1);
  const ids = [...new Set(events.map(({ data }) => data.session_id).filter((id) => id !== undefined))];
  return {
    code: last?.name === 'error' ? String(last.data.code) : null,
    session_id: ids.length === 0 ? null : ids.join(' and then '),
    actedFor: actedFor(String(last?.data.response ?? '')),
    said: said(String(last?.data.response ?? '')),
  };
}

/** All combinations of the possible outcomes of the operations in one order. */
function* alternatives([first, ...rest]: readonly Judge[]): Generator<Judge[]> {
  if (first === undefined) {
    yield [];
    return;
  }
  for (const others of alternatives(rest)) {
    for (const one of [first, ...(first.orElse ?? [])]) yield [one, ...others];
  }
}

/** All possible orders of the operations of several lists. */
function* interleavings<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  const left = lists.filter((list) => list.length > 0);
  if (left.length === 0) {
    yield [];
    return;
  }
  for (const [at, list] of left.entries()) {
    const [first, ...rest] = list;
    const others = left.map((one, index) => (index === at ? rest : one));
    for (const order of interleavings(others)) yield [first as T, ...order];
  }
}
