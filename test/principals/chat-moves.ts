import { toUser } from '../../plugins/phonechat/simulator.ts';
import type { SimulatedEvent, SimulatedRequest } from '../../src/channel/index.ts';
import type { KnownCode } from './actors.ts';
import type { ChatChecker, ChatMessage, Notice, SeenAnswer, SeenReply } from './chat-checker.ts';
import type { ChatMove, Platform, Scope, Sender } from './chat-histories.ts';
import type { Response } from './connection.ts';
import { hasToken, marksIn } from './marks.ts';
import type { Judge } from './play.ts';
import { actedFor, said } from './seen.ts';
import type { Stage } from './stage.ts';
import {
  EVERYBODY,
  makeLogoutToken,
  type SignOut,
  sidOf,
  subOf,
  type Token,
  type TokenKind,
  tenantOf,
  type Who,
} from './tokens.ts';
import type { Chat, Delivered } from './world.ts';

/** A sender, as a platform names them. */
type From = Pick<ChatMessage, 'user' | 'alias'> & { platform: Platform };

/** The last number of a message on a platform. The numbers must differ in all histories of a process. */
let lastNumber = 0;

/** A private chat of a person with the bot. */
interface Private {
  chat: Chat;
  /** The number of messages that were already compared. */
  read: number;
}

/** Makes moves on the platforms and on the site, and judges what the service answers. */
export class ChatMoves {
  readonly #stage: Stage;
  readonly #chats = new Map<string, Private>();
  readonly #threads = new Map<string, string | null>();
  /** The users whose link may have changed since the last probe. */
  readonly #linked = new Map<string, { platform: Platform; user: string; who: Who }>();
  /** The links that the site has listed, by id. */
  readonly #listed = new Map<string, { platform: string; user: string; person: string }>();

  /** The buttons of the question about each code. */
  readonly #questions = new Map<string, readonly string[]>();
  /** Whether something must be so in a state that is possible now. */
  readonly #expects: (ask: (checker: ChatChecker) => boolean) => boolean;

  constructor(stage: Stage, expects: (ask: (checker: ChatChecker) => boolean) => boolean) {
    this.#stage = stage;
    this.#expects = expects;
  }

  get chats(): Chat[] {
    return [...this.#chats.values()].map(({ chat }) => chat);
  }

  async act(move: ChatMove): Promise<Judge[]> {
    switch (move.do) {
      case 'write':
        return [await this.#write(move)];
      case 'link':
        return [await this.#link(move)];
      case 'make-code':
        return [await this.#makeCode(move)];
      case 'send-code':
        return this.#sendCode(move);
      case 'answer':
        return this.#answer(move);
      case 'confirm':
        return this.#confirm(move);
      case 'look':
        return this.#look(move);
      case 'list':
        return [await this.#list(move)];
      case 'end-link':
        return this.#endLink(move);
      case 'sign-out':
        return [await this.#signOut(move)];
    }
  }

  /**
   * Writes in the private chats of users whose link has changed. The replies to questions that waited for it come first.
   */
  async *probes(): AsyncGenerator<Judge[]> {
    for (const [key, { platform, user, who }] of this.#linked) {
      this.#linked.delete(key);
      const mark = this.#stage.newMark(who);
      const { chat, read } = this.#private(platform, user);
      const alias = platform === 'phonechat' ? toUser(user).user_id : null;
      const isHidden = platform === 'phonechat' && !user.startsWith('+');
      const from = { platform, user, alias: isHidden ? user : alias };
      const write = await this.#writeAs(from, { text: mark, mark, thread: null });
      const replies = chat.shown
        .slice(read)
        .filter(isReply)
        .map(replyOf)
        .filter((one) => one.mark !== mark);
      yield [(checker) => checker.reruns(platform, user, replies), write];
    }
  }

  // On platforms

  async #write({ who, platform, shared, sender }: Extract<ChatMove, { do: 'write' }>): Promise<Judge> {
    const mark = this.#stage.newMark(who);
    const thread = shared ? String(this.#stage.number + 1) : null;
    return this.#writeAs(this.#senderOf(who, platform, sender), { text: mark, mark, thread });
  }

  async #writeAs(
    sender: From,
    { text, mark, thread }: { text: string; mark: string; thread: string | null },
  ): Promise<Judge> {
    const { world } = this.#stage;
    if (thread === null) this.#private(sender.platform, sender.user);
    const { request, event } = this.#delivery(sender, text, thread);
    const { reply, cancel } = world.replyTo(mark);
    const { status } = await world.deliver(request);
    if (status !== 200) cancel();
    const delivered = status === 200 ? await reply : null;
    const message = { ...sender, thread, mark };
    if (delivered === null) return (checker) => checker.chatMessage(message, null);
    const { simulator, settings } = this.#platform(sender.platform);
    const rooms = simulator.seenIn(event, settings);
    if (!rooms.includes(delivered.to) || !this.#isItsThread(`${sender.platform} ${thread}`, delivered.thread))
      return () => [{ kind: 'leak', text: `the reply was sent to ${delivered.to} instead of ${rooms[0]}` }];
    if (thread === null) this.#read(sender.platform, sender.user);
    const judge: Judge = (checker) => checker.chatMessage(message, replyOf(delivered));
    // A sign-out at the same time may keep a run from its calls.
    if (this.#stage.hasSignOut)
      judge.orElse = [(checker) => checker.chatMessage(message, replyOf(delivered), 0)];
    return judge;
  }

  async #link({
    who,
    platform,
    token: kind,
    target,
    off,
  }: Extract<ChatMove, { do: 'link' }>): Promise<Judge> {
    const stage = this.#stage;
    const actor = stage.actors[who];
    const token = actor.token(kind, stage.hour);
    const isPhone = platform === 'phonechat';
    const user = stage.idOn(platform, isPhone ? target : who);
    this.#private(platform, user);
    const linked = isPhone
      ? await this.#linkNumber(actor.address, user, token, off)
      : await this.#linkByCommand(platform, user, off ? null : token.text);
    if (!off && linked !== false) this.#noteLink(platform, user, isPhone ? target : who);
    const change = {
      ...{ platform, user, off },
      presented: stage.presented(token),
      keepsHolder: isPhone,
      needsToken: isPhone,
    };
    return (checker) => checker.link(change, linked);
  }

  async #linkNumber(address: string, number: string, token: Token, off: boolean): Promise<boolean> {
    const { status } = await this.#stage.world.request(address, {
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
  async #linkByCommand(platform: Platform, user: string, token: string | null): Promise<boolean | null> {
    const { simulator, settings } = this.#platform(platform);
    const command = platform === 'teamchat' ? '/service-auth' : '/service_auth';
    const event = { kind: 'command', user, text: `${command} ${token ?? 'off'}`, place: 'direct' } as const;
    const request = simulator.delivery({ ...event, number: ++lastNumber, sent_at: Date.now() }, settings);
    const { chat } = this.#private(platform, user);
    const before = chat.shown.length;
    const { body } = await this.#stage.world.deliver(request);
    // On msgbot, the answer is a message in the chat.
    const [shown] = simulator.shownOf?.({ status: 200, body }) ?? [await chat.next(before, isAnswer)];
    if (token === null && platform === 'msgbot') return null;
    // On a busy machine a command may take longer than the platform waits.
    return shown && !shown.text.includes('I do not know whether it was done')
      ? shown.text.startsWith('✅')
      : null;
  }

  async #sendCode({
    who,
    of,
    back,
    platform,
    sender,
    way,
  }: Extract<ChatMove, { do: 'send-code' }>): Promise<Judge[]> {
    const known = this.#code(of, back);
    const code = known?.code ?? 'ABCDEFGH23';
    const id = known?.id ?? null;
    const from = this.#senderOf(who, platform, sender);
    if (way === 'group' || way === 'within') {
      const mark = this.#stage.newMark(who);
      const thread = way === 'group' ? String(this.#stage.number + 1) : null;
      const written = await this.#writeAs(from, { text: `${mark} is ${code}`, mark, thread });
      return way === 'group' ? [(checker) => checker.codeSeen(id), written] : [written];
    }
    const text = { alone: code, link: `link ${code}`, spelled: spelled(code), forwarded: code }[way];
    const seen = await this.#answerTo(from, text, way === 'forwarded');
    if (seen.is === 'question' && id !== null) this.#questions.set(id, seen.buttons);
    const message = { ...from, thread: null, mark: '' };
    return [(checker) => checker.sendCode(message, { isForwarded: way === 'forwarded', id }, seen)];
  }

  async #answer({
    who,
    platform,
    sender,
    approve,
    by,
    of,
    back,
  }: Extract<ChatMove, { do: 'answer' }>): Promise<Judge[]> {
    const from = this.#senderOf(who, platform, sender);
    if (by === 'word') {
      const seen = await this.#answerTo(from, approve ? 'yes' : 'no', false);
      if (seen.is === 'done') this.#noteLink(platform, from.user, who);
      const certain = this.#certain(seen);
      return [(checker) => checker.word({ ...from, thread: null, mark: '' }, approve, certain)];
    }
    const id = this.#code(of, back)?.id ?? '';
    const button = this.#questions.get(id)?.[approve ? 0 : 1];
    // Without a question there is no button.
    if (button === undefined) return [];
    const { chat } = this.#private(platform, from.user);
    const before = chat.shown.length;
    const { request } = this.#delivery(from, button, null, 'press');
    const counts = this.#expects((checker) => checker.counts(from, id));
    await this.#stage.world.deliver(request);
    // A press that does not count may lead to no message.
    const shown = counts
      ? await chat.next(before, isAnswer)
      : (chat.shown.slice(before).find(isAnswer) ?? null);
    this.#read(platform, from.user);
    const seen = answerOf(shown);
    if (seen.is === 'done') this.#noteLink(platform, from.user, who);
    const certain = this.#certain(seen);
    return [(checker) => checker.press(from, { id, approve }, certain)];
  }

  #certain(seen: SeenAnswer): SeenAnswer {
    return this.#stage.isConcurrent ? { is: 'unclear' } : seen;
  }

  /** Delivers a text without a mark in a private chat, and returns the answer. */
  async #answerTo(from: From, text: string, isForwarded: boolean): Promise<SeenAnswer> {
    const { chat } = this.#private(from.platform, from.user);
    const before = chat.shown.length;
    const { request } = this.#delivery(from, text, null, isForwarded ? 'forwarded' : 'message');
    const { status } = await this.#stage.world.deliver(request);
    const shown = status === 200 ? await chat.next(before, isAnswer) : null;
    this.#read(from.platform, from.user);
    return answerOf(shown);
  }

  #delivery(
    { platform, user, alias }: From,
    text: string,
    thread: string | null,
    how: 'message' | 'forwarded' | 'press' = 'message',
  ): { request: SimulatedRequest; event: SimulatedEvent } {
    const { simulator, settings } = this.#platform(platform);
    const isHidden = alias !== null && user === alias;
    const event: SimulatedEvent = {
      ...{ kind: how === 'press' ? 'press' : 'message', user, text },
      place: thread === null ? 'direct' : 'group',
      ...(thread === null ? {} : { thread }),
      number: ++lastNumber,
      sent_at: Date.now(),
    };
    let request = simulator.delivery(event, settings);
    const change = (body: string) => {
      request = simulator.sign?.({ ...request, body }, settings) ?? { ...request, body };
    };
    if (alias !== null && !isHidden) change(request.body.replaceAll(toUser(user).user_id, alias));
    if (how === 'forwarded') change(forwarded(request.body));
    return { request, event };
  }

  /** Whether a reply was sent to the right thread. The first reply shows how the platform names the thread. */
  #isItsThread(thread: string, seen: string | null): boolean {
    const known = this.#threads.get(thread);
    if (known === undefined) this.#threads.set(thread, seen);
    return known === undefined || known === seen;
  }

  #senderOf(who: Who, platform: Platform, sender: Sender): From {
    if (platform !== 'phonechat') return { platform, user: this.#stage.idOn(platform, who), alias: null };
    const alias = this.#stage.otherIdOf(who, sender);
    const number = this.#stage.idOn(platform, sender === 'recycled' ? 'victim' : who);
    return { platform, user: sender === 'hidden' ? alias : number, alias };
  }

  #platform(name: string) {
    const platform = this.#stage.world.platforms.get(name);
    if (!platform) throw new Error(`there is no platform ${name}`);
    return platform;
  }

  #private(platform: string, user: string): Private {
    const key = `${platform} ${user}`;
    let found = this.#chats.get(key);
    if (!found) {
      const { simulator, settings } = this.#platform(platform);
      const event = { kind: 'message', user, text: '', place: 'direct', number: 1, sent_at: 0 } as const;
      found = { chat: this.#stage.world.follow(platform, simulator.seenIn(event, settings)), read: 0 };
      this.#chats.set(key, found);
    }
    return found;
  }

  /** What the chat shows now is compared with the rules, and is not looked at again. */
  #read(platform: string, user: string): void {
    const found = this.#private(platform, user);
    found.read = found.chat.shown.length;
  }

  #noteLink(platform: Platform, user: string, who: Who): void {
    this.#linked.set(`${platform} ${user}`, { platform, user, who });
  }

  // On the site

  async #makeCode({ who, token: kind }: Extract<ChatMove, { do: 'make-code' }>): Promise<Judge> {
    const token = this.#token(who, kind);
    const { status, body } = await this.#asks(who, 'POST', '/link/codes', token);
    const { id = null, code = '' } = JSON.parse(body) as Record<string, string | undefined>;
    if (status === 201 && id !== null) this.#stage.actors[who].codes.push({ id, code });
    return (checker) => checker.makeCode(this.#stage.presented(token), token, { status, id });
  }

  async #confirm({
    who,
    of,
    back,
    token: kind,
    looks,
  }: Extract<ChatMove, { do: 'confirm' }>): Promise<Judge[]> {
    const id = this.#code(of, back)?.id ?? 'unknown';
    const token = this.#token(who, kind);
    const presented = this.#stage.presented(token);
    const judges: Judge[] = [];
    if (looks) {
      const { judge, view } = await this.#view(who, id, token);
      judges.push(judge);
      const isOwn = this.#userOf(view.channel, view.masked_id)?.who === who;
      if (view.state === 'claimed' && !isOwn) {
        const { status } = await this.#asks(who, 'DELETE', `/link/codes/${id}`, token);
        return [...judges, (checker) => checker.code(presented, { id, ends: true }, { status, state: null })];
      }
    }
    const { status, body } = await this.#asks(who, 'POST', `/link/codes/${id}/confirm`, token);
    const { state, channel, masked_id } = JSON.parse(body) as CodeView;
    const linked = status === 200 && state === 'used' ? this.#userOf(channel, masked_id) : null;
    if (linked) this.#noteLink(channel as Platform, linked.user, linked.who);
    return [...judges, (checker) => checker.confirm(presented, token, { id, status })];
  }

  async #look({ who, of, back, token: kind, ends }: Extract<ChatMove, { do: 'look' }>): Promise<Judge[]> {
    const id = this.#code(of, back)?.id ?? 'unknown';
    const token = this.#token(who, kind);
    if (!ends) return [(await this.#view(who, id, token)).judge];
    const { status } = await this.#asks(who, 'DELETE', `/link/codes/${id}`, token);
    const presented = this.#stage.presented(token);
    return [(checker) => checker.code(presented, { id, ends }, { status, state: null })];
  }

  async #view(who: Who, id: string, token: Token): Promise<{ judge: Judge; view: CodeView }> {
    const presented = this.#stage.presented(token);
    const { status, body } = await this.#asks(who, 'GET', `/link/codes/${id}`, token);
    const view = JSON.parse(body) as CodeView;
    const seen = { status, state: view.state ?? null };
    return { judge: (checker) => checker.code(presented, { id, ends: false }, seen), view };
  }

  async #list({ who, token: kind }: Extract<ChatMove, { do: 'list' }>): Promise<Judge> {
    const token = this.#token(who, kind);
    const { status, body } = await this.#asks(who, 'GET', '/links', token);
    const { links = [] } = JSON.parse(body) as {
      links?: { id: string; channel: string; masked_id: string }[];
    };
    for (const { id, channel, masked_id } of links) {
      this.#stage.actors[who].links.push(id);
      const user = this.#userOf(channel, masked_id)?.user ?? '';
      this.#listed.set(id, { platform: channel, user, person: token.person ?? '' });
    }
    const platforms = links.map(({ channel }) => channel);
    return (checker) => checker.list(this.#stage.presented(token), { status, platforms });
  }

  async #endLink({ who, of, back, token: kind }: Extract<ChatMove, { do: 'end-link' }>): Promise<Judge[]> {
    const judges = of === who ? [await this.#list({ do: 'list', who, token: kind })] : [];
    const { links } = this.#stage.actors[of];
    const id = links.at(-1 - back) ?? 'unknown';
    const token = this.#token(who, kind);
    const { status } = await this.#asks(who, 'DELETE', `/links/${id}`, token);
    const link = this.#listed.get(id) ?? null;
    const presented = this.#stage.presented(token);
    return [...judges, (checker) => checker.endLink(presented, link, status)];
  }

  async #signOut({ who, scope, by, again }: Extract<ChatMove, { do: 'sign-out' }>): Promise<Judge> {
    const { world, number, actors } = this.#stage;
    const { logouts } = actors[who];
    const last = again ? logouts.at(-1) : undefined;
    const signOut = last?.signOut ?? this.#signOutOf(who, scope);
    const jti = `${number} ${signOut.iat}`;
    const text = last?.text ?? makeLogoutToken(signOut, jti, by);
    if (last === undefined && by === 'site') logouts.push({ text, signOut });
    const { status } = await world.request(actors[who].address, {
      method: 'POST',
      path: '/backchannel-logout',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: text }).toString(),
    });
    const counts = last !== undefined || by === 'site';
    if (counts && status === 200) this.#stage.signedOut.push(signOut);
    return (checker) => {
      if (counts) checker.signOut(signOut);
      const isRight = status === (counts ? 200 : 400);
      return isRight
        ? []
        : [{ kind: counts ? 'refused' : 'not refused', text: `the logout token was answered ${status}` }];
    };
  }

  #signOutOf(who: Who, scope: Scope): SignOut {
    const { number } = this.#stage;
    const device = scope === 'laptop' ? 'laptop' : 'phone';
    return {
      sub: scope === 'phone-only' ? null : subOf(number, scope === 'tenant' ? 'victim' : who),
      tenant: scope === 'tenant' ? tenantOf(number) : null,
      sid: scope === 'all' || scope === 'tenant' ? null : sidOf(number, who, device),
      iat: this.#stage.moment(),
    };
  }

  #asks(who: Who, method: 'GET' | 'POST' | 'DELETE', path: string, token: Token): Promise<Response> {
    const headers = { Authorization: `Bearer ${token.text}` };
    return this.#stage.world.request(this.#stage.actors[who].address, { method, path, headers });
  }

  #token(who: Who, kind: TokenKind): Token {
    return this.#stage.actors[who].token(kind, this.#stage.hour);
  }

  #code(of: Who, back: number): KnownCode | null {
    return this.#stage.actors[of].codes.at(-1 - back) ?? null;
  }

  /** The user of a platform whom the site shows in this masked form. */
  #userOf(channel: string | undefined, masked_id: string | undefined): { user: string; who: Who } | null {
    if (channel === undefined || masked_id === undefined) return null;
    const ids = EVERYBODY.flatMap((who) => [
      { who, user: this.#stage.idOn(channel, who) },
      ...(channel === 'phonechat' ? [{ who, user: this.#stage.otherIdOf(who, 'hidden') }] : []),
    ]);
    return ids.find(({ user }) => user.endsWith(masked_id.slice(1))) ?? null;
  }
}

interface CodeView {
  state?: string;
  channel?: string;
  masked_id?: string;
}

/** As a person may write it. */
function spelled(code: string): string {
  return `${code.slice(0, 5)}-${code.slice(5)}`.toLowerCase();
}

/** The delivery of a message that its sender has forwarded from another chat. */
function forwarded(body: string): string {
  const delivery = JSON.parse(body);
  if (delivery.message)
    delivery.message.forward_origin = { type: 'hidden_user', sender_user_name: 'A', date: 1 };
  else delivery.entry[0].changes[0].value.messages[0].context = { forwarded: true };
  return JSON.stringify(delivery);
}

const NOTICES: readonly (readonly [RegExp, Notice])[] = [
  [/^Connect this chat with/, 'question'],
  [/^Thank you\. Now confirm/, 'on_site'],
  [/^✅ This chat is connected/, 'done'],
  [/^This chat was not connected\. The code/, 'declined'],
  [/^❌ This code is no longer valid/, 'gone'],
  [/^❌ This chat was not connected, because the sign-in/, 'invalid_token'],
  [/^❌ This chat was not connected: this number/, 'held_by_another'],
];

/** Texts that come without a message to which they are the answer. */
const UNASKED = /no longer connected with|no longer signed in on|You asked me something in a group/;

function isAnswer({ text }: Delivered): boolean {
  return !UNASKED.test(text);
}

function isReply({ text }: Delivered): boolean {
  return /^\S+ for \S+:/.test(text);
}

function answerOf(shown: Delivered | null): SeenAnswer {
  if (shown === null) return { is: 'nothing' };
  if (isReply(shown)) return { is: 'reply', ...replyOf(shown) };
  const { text, buttons } = shown;
  const [, notice = 'other'] = NOTICES.find(([pattern]) => pattern.test(text)) ?? [];
  const names = [...text.matchAll(/([a-z]+\d+)(?:@|&#64;)?/g)].map(([, name = '']) => name);
  return { is: notice, names, buttons };
}

function replyOf({ text }: Delivered): SeenReply {
  const mark = /^(\S+) for/.exec(text)?.[1] ?? '';
  return {
    mark: mark === 'nothing' ? '' : mark,
    ...{ marks: marksIn(text), actedFor: actedFor(text), said: said(text), hasToken: hasToken(text) },
  };
}
