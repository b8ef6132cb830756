import { toUser } from '../../plugins/phonechat/simulator.ts';
import type { SimulatedEvent, SimulatedRequest } from '../../src/channel/index.ts';
import { answersLatePress, isAboutGroup, saysEnded } from '../support/marked-texts.ts';
import type { Chat, Delivered } from './chat.ts';
import { type ChatMessage, type SeenReply, sessionOf } from './chat-checker.ts';
import type { Platform, Sender } from './chat-histories.ts';
import type { Notice, SeenAnswer } from './code-checker.ts';
import type { DeedChecker } from './deed-checker.ts';
import type { Business } from './facts.ts';
import { deedsIn, hasToken, marksIn } from './marks.ts';
import type { Judge } from './play.ts';
import { actedFor, linesIn, said } from './seen.ts';
import type { Stage } from './stage.ts';
import type { Who } from './tokens.ts';

/** A sender, as a platform names them. */
type From = Pick<ChatMessage, 'user' | 'alias'> & { platform: Platform };

/** The last number of a message on a platform. The numbers must differ in all histories of a process. */
let lastNumber = 0;

/** A private chat of a person with the bot. */
interface Private {
  chat: Chat;
  /** The replies that were already compared. */
  read: Set<Delivered>;
}

interface Written {
  text: string;
  mark: string;
  thread: string | null;
  business?: Business;
}

/** Delivers what people write on the platforms, and reads what they see there. */
export class Chats {
  readonly #stage: Stage;
  readonly #all = new Map<string, Private>();
  readonly #threads = new Map<string, string | null>();
  readonly #threadRooms = new Map<string, string>();
  readonly #rooms = new Map<string, Chat>();
  /** Questions about actions that were compared with the rules, and the buttons of each, by its first action. */
  readonly #asked = new Set<Delivered>();
  readonly #buttons = new Map<string, readonly string[]>();
  /** Answers that were given at the same time as another one, or delivered twice. */
  readonly #unsettled: { sender: From; thread: string | null; who: Who; before: number }[] = [];
  /** Whether something must be so in a state that is possible now. */
  readonly #expects: (ask: (checker: DeedChecker) => boolean) => boolean;

  constructor(stage: Stage, expects: (ask: (checker: DeedChecker) => boolean) => boolean) {
    this.#stage = stage;
    this.#expects = expects;
  }

  get all(): Chat[] {
    return [...[...this.#all.values()].map(({ chat }) => chat), ...this.#rooms.values()];
  }

  /** Writes a message with a mark, and judges its reply. */
  async writeAs(sender: From, { text, mark, thread, business }: Written): Promise<Judge> {
    const { world } = this.#stage;
    const { request, event } = this.delivery(sender, text, thread);
    if (thread === null) this.private(sender.platform, sender.user);
    const replyTo = world.expectReply(mark);
    await world.deliver(request);
    await this.#stage.answered();
    const delivered = replyTo();
    const message = { ...sender, thread, mark, ...(business ? { business } : {}) };
    if (delivered === null) return (checker) => checker.chatMessage(message, null);
    const { simulator, settings } = this.platform(sender.platform);
    const rooms = simulator.seenIn(event, settings);
    if (!rooms.includes(delivered.to) || !this.#isItsThread(`${sender.platform} ${thread}`, delivered))
      return () => [{ kind: 'leak', text: `the reply was sent to ${delivered.to} instead of ${rooms[0]}` }];
    if (thread === null) this.#read(sender, delivered);
    const room = this.#room(sender, thread);
    const seen = replyOf(delivered, room && this.#questionAfter(delivered, room));
    const judge: Judge = (checker) => checker.chatMessage(message, seen);
    // A sign-out at the same time may keep a run from its calls.
    if (this.#stage.hasSignOut) judge.orElse = [(checker) => checker.chatMessage(message, seen, 0)];
    return judge;
  }

  /**
   * Writes an answer to a question of actions, or presses its button. It has no mark.
   * @param who the sender
   * @param twice whether the platform delivers it twice
   */
  async decide(
    sender: From,
    thread: string | null,
    business: Business,
    { text, who, twice }: { text: string; who: Who; twice: boolean },
  ): Promise<Judge[]> {
    const room = this.#room(sender, thread);
    // In a thread that has seen no reply, nobody was asked.
    if (room === null) return [];
    const isPress = business.press !== null;
    const message = { ...sender, thread, mark: '', business };
    const session = sessionOf(message);
    const before = room.length;
    const counts =
      !isPress || this.#expects((checker) => checker.isOpen(business.press ?? '', session, sender.user));
    const { request } = this.delivery(sender, text, thread, isPress ? 'press' : 'message');
    const { world, isConcurrent, hasSignOut } = this.#stage;
    const deliver = () => world.deliver(request);
    const answers = await Promise.all(twice ? [deliver(), deliver()] : [deliver()]);
    await this.#stage.answered();
    // A press that does not count leads to no message of the agent. What it has changed shows later.
    if (!counts) return [];
    const isAccepted = answers.every(({ status }) => status === 200);
    if (isAccepted && (isConcurrent || twice)) this.#unsettled.push({ sender, thread, who, before });
    if (isAccepted && isConcurrent) return [concurrentJudge(message, hasSignOut)];
    const isMeant = (shown: Delivered) => isAnswer(shown) && !(isPress && saysEnded(shown.text));
    const delivered = isAccepted ? room.slice(before).find(isMeant) : undefined;
    if (delivered === undefined) return [(checker) => checker.chatMessage(message, null)];
    if (thread === null) this.#read(sender, delivered);
    const seen = replyOf(delivered, this.#questionAfter(delivered, room));
    return [(checker) => checker.chatMessage(message, seen)];
  }

  /**
   * Writes a message for each answer that was given at the same time as another one, or delivered twice. Its reply comes
   * after those to the answers, of which nobody can tell which is whose, and shows what is open now.
   */
  async *settle(): AsyncGenerator<Judge[]> {
    for (const { sender, thread, who, before } of this.#unsettled.splice(0)) {
      const mark = this.#stage.newMark(who);
      const judge = await this.writeAs(sender, { text: mark, mark, thread });
      // A reply may have repeated a question before the other answer ended it.
      const shown = this.#room(sender, thread)?.slice(before) ?? [];
      for (const one of shown)
        if (isQuestion(one) && this.#buttons.has(deedsIn(one.text)[0] ?? '')) this.#noteQuestion(one);
      if (thread === null) this.#read(sender, ...shown.filter(isUnmarked));
      yield [judge];
    }
  }

  /** The question at the end of a reply, as a separate message. Null if there is none. */
  #questionAfter(reply: Delivered, shown: Chat): Delivered | null {
    const next = shown.slice(shown.indexOf(reply) + 1).find((one) => isReply(one) || isQuestion(one));
    if (next === undefined || !isQuestion(next)) return null;
    this.#noteQuestion(next);
    return next;
  }

  /** The replies of the agent in a private chat that were not compared yet, each with the question that follows it. */
  newReplies(platform: string, user: string): SeenReply[] {
    const { chat, read } = this.private(platform, user);
    const fresh = chat.filter((one) => isReply(one) && !read.has(one));
    this.#read({ platform, user }, ...fresh);
    return fresh.map((one) => replyOf(one, this.#questionAfter(one, chat)));
  }

  /** Waits until second runs have asked. A message that is accepted before does not count as one after the question. */
  async untilAsked(platform: string, user: string): Promise<void> {
    if (this.#expects((checker) => checker.isAboutToAsk(platform, user))) await this.#stage.answered();
  }

  #noteQuestion(question: Delivered): void {
    this.#asked.add(question);
    this.#buttons.set(deedsIn(question.text)[0] ?? '', question.buttons);
  }

  /** The button that confirms or declines all actions of the question that begins with this one. */
  buttonOf(deed: string, approve: boolean): string | undefined {
    return this.#buttons.get(deed)?.[approve ? 0 : 1];
  }

  /** The names of the private chat of a person. */
  roomsOf(platform: string, who: Who): readonly string[] {
    const { simulator, settings } = this.platform(platform);
    const user = this.#stage.idOn(platform, who);
    const event = { kind: 'message', user, text: '', place: 'direct', number: 1, sent_at: 0 } as const;
    return simulator.seenIn(event, settings);
  }

  /** Whether a message was sent to this thread. */
  isThread(thread: string, { to, thread: seen }: Pick<Delivered, 'to' | 'thread'>): boolean {
    return this.#threads.get(thread) === seen && this.#threadRooms.get(thread) === to;
  }

  /** Questions about actions that nobody was expected to be asked. */
  *unexpectedQuestions(): Generator<Delivered> {
    for (const one of this.all.flat()) if (isQuestion(one) && !this.#asked.has(one)) yield one;
  }

  /** The private chat of a sender, or a thread as far as it is known. */
  #room({ platform, user }: Pick<ChatMessage, 'platform' | 'user'>, thread: string | null): Chat | null {
    if (thread === null) return this.private(platform, user).chat;
    return this.#rooms.get(`${platform} ${thread}`) ?? null;
  }

  /** Returns null if the answer to the command does not say whether it was done. */
  async linkByCommand(platform: Platform, user: string, token: string | null): Promise<boolean | null> {
    const { simulator, settings } = this.platform(platform);
    const command = platform === 'teamchat' ? '/service-auth' : '/service_auth';
    const event = { kind: 'command', user, text: `${command} ${token ?? 'off'}`, place: 'direct' } as const;
    const request = simulator.delivery({ ...event, number: ++lastNumber, sent_at: Date.now() }, settings);
    const { chat } = this.private(platform, user);
    const before = chat.length;
    const { body } = await this.#stage.world.deliver(request);
    const answer = simulator.shownOf?.({ status: 200, body });
    if (answer === undefined) await this.#stage.answered();
    // On msgbot, the answer is a message in the chat. The reply to a question that waited for it may come before it.
    const isOurs = (one: Delivered) => isAnswer(one) && !isReply(one) && !isQuestion(one);
    const [shown] = answer ?? [chat.slice(before).find(isOurs)];
    if (token === null && platform === 'msgbot') return null;
    // On a busy machine a command may take longer than the platform waits.
    return shown && !shown.text.includes('I do not know whether it was done')
      ? shown.text.startsWith('✅')
      : null;
  }

  /** Delivers a text without a mark in a private chat, and returns the answer. */
  async answerTo(from: From, text: string, isForwarded: boolean): Promise<SeenAnswer> {
    const { chat } = this.private(from.platform, from.user);
    const before = chat.length;
    const { request } = this.delivery(from, text, null, isForwarded ? 'forwarded' : 'message');
    await this.#stage.world.deliver(request);
    await this.#stage.answered();
    return this.answerSince(before, from);
  }

  /** What a person has seen in answer to a text without a mark, or to a press. */
  answerSince(before: number, from: From): SeenAnswer {
    const { chat } = this.private(from.platform, from.user);
    const shown = chat.slice(before);
    // The reply to a question that waited for the sign-in may come before the answer.
    const answer = shown.find((one) => isAnswer(one) && (!isReply(one) || isUnmarked(one)));
    if (answer === undefined) return { is: 'nothing' };
    if (!isReply(answer)) return noticeOf(answer);
    this.#read(from, answer);
    return { is: 'reply', ...replyOf(answer, this.#questionAfter(answer, chat)) };
  }

  delivery(
    { platform, user, alias }: From,
    text: string,
    thread: string | null,
    how: 'message' | 'forwarded' | 'press' = 'message',
  ): { request: SimulatedRequest; event: SimulatedEvent } {
    const { simulator, settings } = this.platform(platform);
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
  #isItsThread(thread: string, { to, thread: seen }: Delivered): boolean {
    const known = this.#threads.get(thread);
    if (known !== undefined) return known === seen;
    this.#threads.set(thread, seen);
    this.#threadRooms.set(thread, to);
    const platform = thread.split(' ')[0] ?? '';
    if (seen !== null) this.#rooms.set(thread, this.#stage.world.follow(platform, [`${to} ${seen}`]));
    return true;
  }

  senderOf(who: Who, platform: Platform, sender: Sender): From {
    if (platform !== 'phonechat') return { platform, user: this.#stage.idOn(platform, who), alias: null };
    const alias = this.#stage.otherIdOf(who, sender);
    const number = this.#stage.idOn(platform, sender === 'recycled' ? 'victim' : who);
    return { platform, user: sender === 'hidden' ? alias : number, alias };
  }

  platform(name: string) {
    const platform = this.#stage.world.platforms.get(name);
    if (!platform) throw new Error(`there is no platform ${name}`);
    return platform;
  }

  private(platform: string, user: string): Private {
    const key = `${platform} ${user}`;
    let found = this.#all.get(key);
    if (!found) {
      const { simulator, settings } = this.platform(platform);
      const event = { kind: 'message', user, text: '', place: 'direct', number: 1, sent_at: 0 } as const;
      const chat = this.#stage.world.follow(platform, simulator.seenIn(event, settings));
      found = { chat, read: new Set() };
      this.#all.set(key, found);
    }
    return found;
  }

  #read({ platform, user }: Pick<From, 'user'> & { platform: string }, ...replies: Delivered[]): void {
    const { read } = this.private(platform, user);
    for (const reply of replies) read.add(reply);
  }
}

/** What an answer may have done that was given at the same time as something else. Its reply is not known. */
function concurrentJudge(message: ChatMessage & { business: Business }, hasSignOut: boolean): Judge {
  const { business } = message;
  const judged =
    (changed: Partial<Business>, calls?: number): Judge =>
    (checker) =>
      checker.chatMessage({ ...message, business: { ...business, ...changed } }, 'unclear', calls);
  const judge = judged({});
  judge.orElse = [
    // A press after the question was answered does nothing.
    ...(business.press === null ? [] : [() => []]),
    // A word that was accepted before the question had arrived is no answer.
    judged({ says: null, press: null }),
    // A sign-out at the same time may keep a run from its calls, and its actions from being sent.
    ...(hasSignOut
      ? [
          judged({}, 0),
          judged({ kept: 'failed' }, 0),
          judged({ kept: 'left out' }, 0),
          judged({ kept: 'failed' }),
        ]
      : []),
  ];
  return judge;
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
const UNASKED = /no longer connected with|no longer signed in on/;
/** Whether a message may be the answer to what the person has just written or pressed. */
export function isAnswer({ text }: Delivered): boolean {
  return !UNASKED.test(text) && !answersLatePress(text) && !isAboutGroup(text);
}

function isReply({ text }: Delivered): boolean {
  return /^\S+ for \S+:/.test(text);
}

/** Whether it is a reply to a message without a mark. */
function isUnmarked(shown: Delivered): boolean {
  return isReply(shown) && replyOf(shown).mark === '';
}

function noticeOf({ text, buttons }: Delivered): SeenAnswer {
  const [, notice = 'other'] = NOTICES.find(([pattern]) => pattern.test(text)) ?? [];
  const names = [...text.matchAll(/([a-z]+\d+)(?:@|&#64;)?/g)].map(([, name = '']) => name);
  return { is: notice, names, buttons };
}

function isQuestion({ text, buttons }: Delivered): boolean {
  return buttons.length > 0 && deedsIn(text).length > 0;
}

/** @param question the message after the reply, if it asks something */
function replyOf({ text }: Delivered, question: Delivered | null = null): SeenReply {
  const mark = /^(\S+) for/m.exec(text)?.[1] ?? '';
  return {
    mark: mark === 'nothing' ? '' : mark,
    marks: marksIn(`${text} ${question?.text ?? ''}`),
    told: { asks: deedsIn(question?.text ?? ''), lines: linesIn(text) },
    ...{ actedFor: actedFor(text), said: said(text), hasToken: hasToken(text) },
  };
}
