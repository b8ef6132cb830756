import { toUser } from '../../plugins/phonechat/simulator.ts';
import type { SimulatedEvent, SimulatedRequest } from '../../src/channel/index.ts';
import type { ChatMessage, SeenReply } from './chat-checker.ts';
import type { Platform, Sender } from './chat-histories.ts';
import type { Notice, SeenAnswer } from './code-checker.ts';
import { hasToken, marksIn } from './marks.ts';
import type { Judge } from './play.ts';
import { actedFor, said } from './seen.ts';
import type { Stage } from './stage.ts';
import type { Who } from './tokens.ts';
import type { Chat, Delivered } from './world.ts';

/** A sender, as a platform names them. */
export type From = Pick<ChatMessage, 'user' | 'alias'> & { platform: Platform };

/** The last number of a message on a platform. The numbers must differ in all histories of a process. */
let lastNumber = 0;

/** A private chat of a person with the bot. */
interface Private {
  chat: Chat;
  /** The number of messages that were already compared. */
  read: number;
}

/** Delivers what people write on the platforms, and reads what they see there. */
export class Chats {
  readonly #stage: Stage;
  readonly #all = new Map<string, Private>();
  readonly #threads = new Map<string, string | null>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get all(): Chat[] {
    return [...this.#all.values()].map(({ chat }) => chat);
  }

  async writeAs(
    sender: From,
    { text, mark, thread }: { text: string; mark: string; thread: string | null },
  ): Promise<Judge> {
    const { world } = this.#stage;
    if (thread === null) this.private(sender.platform, sender.user);
    const { request, event } = this.delivery(sender, text, thread);
    const { reply, cancel } = world.replyTo(mark);
    const { status } = await world.deliver(request);
    if (status !== 200) cancel();
    const delivered = status === 200 ? await reply : null;
    const message = { ...sender, thread, mark };
    if (delivered === null) return (checker) => checker.chatMessage(message, null);
    const { simulator, settings } = this.platform(sender.platform);
    const rooms = simulator.seenIn(event, settings);
    if (!rooms.includes(delivered.to) || !this.#isItsThread(`${sender.platform} ${thread}`, delivered.thread))
      return () => [{ kind: 'leak', text: `the reply was sent to ${delivered.to} instead of ${rooms[0]}` }];
    if (thread === null) this.read(sender.platform, sender.user);
    const judge: Judge = (checker) => checker.chatMessage(message, replyOf(delivered));
    // A sign-out at the same time may keep a run from its calls.
    if (this.#stage.hasSignOut)
      judge.orElse = [(checker) => checker.chatMessage(message, replyOf(delivered), 0)];
    return judge;
  }

  /** Returns null if the answer to the command does not say whether it was done. */
  async linkByCommand(platform: Platform, user: string, token: string | null): Promise<boolean | null> {
    const { simulator, settings } = this.platform(platform);
    const command = platform === 'teamchat' ? '/service-auth' : '/service_auth';
    const event = { kind: 'command', user, text: `${command} ${token ?? 'off'}`, place: 'direct' } as const;
    const request = simulator.delivery({ ...event, number: ++lastNumber, sent_at: Date.now() }, settings);
    const { chat } = this.private(platform, user);
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

  /** Delivers a text without a mark in a private chat, and returns the answer. */
  async answerTo(from: From, text: string, isForwarded: boolean): Promise<SeenAnswer> {
    const { chat } = this.private(from.platform, from.user);
    const before = chat.shown.length;
    const { request } = this.delivery(from, text, null, isForwarded ? 'forwarded' : 'message');
    const { status } = await this.#stage.world.deliver(request);
    const shown = status === 200 ? await chat.next(before, isAnswer) : null;
    this.read(from.platform, from.user);
    return answerOf(shown);
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
  #isItsThread(thread: string, seen: string | null): boolean {
    const known = this.#threads.get(thread);
    if (known === undefined) this.#threads.set(thread, seen);
    return known === undefined || known === seen;
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
      found = { chat: this.#stage.world.follow(platform, simulator.seenIn(event, settings)), read: 0 };
      this.#all.set(key, found);
    }
    return found;
  }

  /** What the chat shows now is compared with the rules, and is not looked at again. */
  read(platform: string, user: string): void {
    const found = this.private(platform, user);
    found.read = found.chat.shown.length;
  }
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
/** The answer to a press that does not count. It may come later than the next message. */
const REFUSED = /^(?:This question is no longer open|Only the person who was asked)/;

export function isAnswer({ text }: Delivered): boolean {
  return !UNASKED.test(text) && !REFUSED.test(text);
}

export function isReply({ text }: Delivered): boolean {
  return /^\S+ for \S+:/.test(text);
}

export function answerOf(shown: Delivered | null): SeenAnswer {
  if (shown === null) return { is: 'nothing' };
  if (isReply(shown)) return { is: 'reply', ...replyOf(shown) };
  const { text, buttons } = shown;
  const [, notice = 'other'] = NOTICES.find(([pattern]) => pattern.test(text)) ?? [];
  const names = [...text.matchAll(/([a-z]+\d+)(?:@|&#64;)?/g)].map(([, name = '']) => name);
  return { is: notice, names, buttons };
}

export function replyOf({ text }: Delivered): SeenReply {
  const mark = /^(\S+) for/.exec(text)?.[1] ?? '';
  return {
    mark: mark === 'nothing' ? '' : mark,
    ...{ marks: marksIn(text), actedFor: actedFor(text), said: said(text), hasToken: hasToken(text) },
  };
}
