import { type Actor, POSTING, READING } from './actors.ts';
import type { DeedChecker } from './deed-checker.ts';
import type { Presented, Seen, WebMessage } from './facts.ts';
import type { Brought, Move, Opening, Ref, SessionChoice } from './histories.ts';
import { hasToken, marksIn } from './marks.ts';
import type { Judge } from './play.ts';
import { actedFor, said } from './seen.ts';
import type { Stage } from './stage.ts';
import { emailOf, type Token, type Who } from './tokens.ts';

/** A move on the web channels. */
type WebMove = Extract<Move, { do: 'say' | 'open' | 'stop' | 'lure' | 'plant' }>;

/** Makes moves on the web channels, and judges what the service answers. */
export class WebMoves {
  readonly #stage: Stage;
  readonly #opened = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async act(move: WebMove): Promise<Judge[]> {
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
        const { attacker, victim } = this.#stage.actors;
        const planted = { token: attacker.token('own', this.#stage.hour), ends: this.#stage.hour + 1 };
        victim.cookies = move.beside
          ? [...victim.cookies, { ...planted, isPlanted: true }]
          : [{ ...planted, isPlanted: false }];
        return [];
      }
    }
  }

  /** Makes the message, the request that contains it, and its description for the checker. */
  #compose(move: Extract<Move, { do: 'say' }>) {
    const actor = this.#stage.actors[move.who];
    const earlier = move.key === 'again' || move.key === 'reuse' ? actor.keyed : null;
    const repeated = move.key === 'again' ? earlier : null;
    const mark = repeated?.mark ?? this.#stage.newMark(move.who);
    const asked = move.asks
      ? ` look up ${emailOf(this.#stage.number, move.who === 'victim' ? 'attacker' : 'victim')}`
      : '';
    const text = repeated?.text ?? `${mark}${asked}${move.fails ? ' fail' : ''}`;
    const user = repeated?.user ?? this.#stage.actors[move.user].user;
    const named = repeated ? repeated.named : this.#session(move.who, move.session);
    const key = move.key === 'none' ? null : (earlier?.key ?? `${mark}-key`);
    const fails = repeated?.fails ?? move.fails;
    if (key !== null && !earlier) actor.keyed = { key, user, named, text, mark, fails };

    const { headers, body, presented, token } = this.#bring(actor, move);
    const manner = POSTING[move.as];
    const cookies = manner.hasCookie ? actor.cookiesAt(this.#stage.hour) : [];
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
    const { status, headers, body } = await this.#stage.world.request(actor.address, request);
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
      isConcurrent: this.#stage.isConcurrent,
    };
    if (session_id !== null) actor.learnSession(session_id);
    const judge: Judge = (checker) => checker.message(message, seen);
    // A sign-out at the same time may keep a run from its calls, or come after the session was found.
    if (this.#stage.hasSignOut)
      judge.orElse = ([{ calls: 0 }, { calls: 1 }, 'found'] as const).map(
        (meanwhile) => (checker: DeedChecker) => checker.message(message, seen, meanwhile),
      );
    return judge;
  }

  async #ask(move: Extract<Move, { do: 'say' }>): Promise<Judge[]> {
    const { actor, request, message, token, cookies } = this.#compose(move);
    const { status, headers, body } = await this.#stage.world.request(actor.address, request);
    const { stream_id: stream = null, code = null } = JSON.parse(body) as Record<string, string | undefined>;
    const cookie = headers.get('set-cookie') ?? null;
    const streamed = {
      ...message,
      cookie: this.#stage.presented(cookies.length === 1 ? cookies[0] : undefined),
    };
    const isConcurrent = this.#stage.isConcurrent;
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
    if (POSTING[as].hasCookie) this.#stage.actors[who].takeCookie(cookie, this.#stage.hour);
  }

  async #read(
    who: Who,
    stream: string,
    { as, query, after }: Opening,
    method: 'GET' | 'DELETE',
  ): Promise<Judge> {
    const actor = this.#stage.actors[who];
    const manner = READING[as];
    const cookies = manner.hasCookie ? actor.cookiesAt(this.#stage.hour) : [];
    const token = query === 'none' ? undefined : actor.token(query, this.#stage.hour);
    const last = lastEventId(after, !this.#stage.isConcurrent && this.#opened.has(stream));
    const { status, body } = await this.#stage.world.request(actor.address, {
      method,
      path: `/sse/stream/${stream}${token ? `?token=${token.text}` : ''}`,
      headers: {
        ...manner.headers,
        ...cookieHeader(cookies),
        ...(last === null ? {} : { 'Last-Event-ID': String(last) }),
      },
    });
    if (method === 'DELETE') await this.#stage.world.runsEnded();
    if (status === 200) this.#opened.add(stream);
    const found = status === 200 ? foundInEvents(body) : foundInProblem(body);
    const seen: Seen = {
      ...found,
      status,
      marks: marksIn(body),
      replayed: false,
      hasToken: hasToken(body),
      isConcurrent: this.#stage.isConcurrent,
    };
    if (seen.session_id !== null) actor.learnSession(seen.session_id);
    const request = {
      stream,
      method,
      isForeign: manner.isForeign === 'with-cookie' ? cookies.length > 0 : manner.isForeign,
      cookie: this.#stage.presented(cookies.length === 1 ? cookies[0] : undefined),
      query: this.#stage.presented(token),
      after: last,
    };
    const judge: Judge = (checker) => checker.stream(request, seen);
    if (method === 'GET' && this.#stage.isConcurrent) {
      judge.orElse = (['before-calls', 'after-calls'] as const).map(
        (cutOff) => (checker: DeedChecker) => checker.stream(request, seen, cutOff),
      );
    }
    return judge;
  }

  /**
   * Sends a request as a form on a foreign site can send it: with a body that looks like JSON, and without a cookie.
   */
  async #lure(text: string): Promise<Judge> {
    const { victim } = this.#stage.actors;
    const { status } = await this.#stage.world.request(victim.address, {
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
    const token = actor.token(brought, this.#stage.hour);
    const presented = this.#stage.presented(token);
    if (place === 'header')
      return { ...nothing, headers: { Authorization: `Bearer ${token.text}` }, presented, token };
    if (place === 'metadata' && via === 'webchat')
      return { ...nothing, body: { metadata: { jwt_token: token.text } }, presented, token };
    return { ...nothing, body: { jwt_token: token.text }, presented, token };
  }

  #session(who: Who, choice: SessionChoice): string | null {
    switch (choice.is) {
      case 'none':
        return null;
      case 'chosen':
        return `room-${choice.number}-${this.#stage.number}`;
      case 'channel':
        return `teamchat:T0SIMULATE:D${this.#stage.number}`;
      case 'known':
        return this.#pick('sessions', who, choice.ref);
    }
  }

  /** Returns the selected id. If it is an id of the other principal, it has leaked, and `who` knows it from now on. */
  #pick(what: 'sessions' | 'streams', who: Who, { of, back }: Ref): string | null {
    const ids = this.#stage.actors[of][what];
    const id = ids.at(-1 - (back % Math.max(1, ids.length)));
    if (id === undefined) return null;
    const actor = this.#stage.actors[who];
    if (what === 'sessions') actor.learnSession(id);
    else actor.learnStream(id);
    return id;
  }
}

const NOTHING: Presented = { kind: 'none' };

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
