import { toUser } from '../../plugins/phonechat/simulator.ts';
import type { ChatMove, Platform } from './chat-histories.ts';
import { Chats } from './chats.ts';
import type { SeenAnswer } from './code-checker.ts';
import type { DeedChecker } from './deed-checker.ts';
import type { Judge } from './play.ts';
import { Site } from './site.ts';
import type { Stage } from './stage.ts';
import type { Who } from './tokens.ts';

/** Makes moves on the platforms and on the site, and judges what the service answers. */
export class ChatMoves {
  readonly #stage: Stage;
  readonly #chats: Chats;
  readonly #site: Site;
  /** The users whose link may have changed since the last probe. */
  readonly #linked = new Map<string, { platform: Platform; user: string; who: Who }>();
  /** The buttons of the question about each code. */
  readonly #questions = new Map<string, readonly string[]>();

  constructor(stage: Stage, expects: (ask: (checker: DeedChecker) => boolean) => boolean) {
    this.#stage = stage;
    this.#chats = new Chats(stage, expects);
    this.#site = new Site(stage, (...linked) => this.#noteLink(...linked));
  }

  get chats(): Chats {
    return this.#chats;
  }

  async act(move: ChatMove): Promise<Judge[]> {
    switch (move.do) {
      case 'write':
        return [await this.#write(move)];
      case 'link':
        return [await this.#link(move)];
      case 'make-code':
        return [await this.#site.makeCode(move)];
      case 'send-code':
        return this.#sendCode(move);
      case 'answer':
        return this.#answer(move);
      case 'confirm':
        return this.#site.confirm(move);
      case 'look':
        return this.#site.look(move);
      case 'list':
        return [await this.#site.list(move)];
      case 'end-link':
        return this.#site.endLink(move);
      case 'sign-out':
        return [await this.#site.signOut(move)];
    }
  }

  /**
   * Writes in the private chats of users whose link has changed. The replies to questions that waited for it come first.
   */
  async *probes(): AsyncGenerator<Judge[]> {
    yield* this.#chats.settle();
    for (const [key, { platform, user, who }] of this.#linked) {
      this.#linked.delete(key);
      const mark = this.#stage.newMark(who);
      await this.#chats.untilAsked(platform, user);
      const alias = platform === 'phonechat' ? toUser(user).user_id : null;
      const isHidden = platform === 'phonechat' && !user.startsWith('+');
      const from = { platform, user, alias: isHidden ? user : alias };
      const write = await this.#chats.writeAs(from, { text: mark, mark, thread: null });
      const replies = this.#chats.newReplies(platform, user);
      yield [(checker) => checker.reruns(platform, user, replies), write];
    }
  }

  async #write({ who, platform, shared, sender }: Extract<ChatMove, { do: 'write' }>): Promise<Judge> {
    const mark = this.#stage.newMark(who);
    const thread = shared ? String(this.#stage.number + 1) : null;
    return this.#chats.writeAs(this.#chats.senderOf(who, platform, sender), { text: mark, mark, thread });
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
    this.#chats.private(platform, user);
    const linked = isPhone
      ? await this.#site.linkNumber(actor.address, user, token, off)
      : await this.#chats.linkByCommand(platform, user, off ? null : token.text);
    if (!off && linked !== false) this.#noteLink(platform, user, isPhone ? target : who);
    const change = {
      ...{ platform, user, off },
      presented: stage.presented(token),
      keepsHolder: isPhone,
      needsToken: isPhone,
    };
    return (checker) => checker.link(change, linked);
  }

  async #sendCode({
    who,
    of,
    back,
    platform,
    sender,
    way,
  }: Extract<ChatMove, { do: 'send-code' }>): Promise<Judge[]> {
    const known = this.#site.code(of, back);
    const code = known?.code ?? 'ABCDEFGH23';
    const id = known?.id ?? null;
    const from = this.#chats.senderOf(who, platform, sender);
    if (way === 'group' || way === 'within') {
      const mark = this.#stage.newMark(who);
      const thread = way === 'group' ? String(this.#stage.number + 1) : null;
      const written = await this.#chats.writeAs(from, { text: `${mark} is ${code}`, mark, thread });
      return way === 'group' ? [(checker) => checker.codeSeen(id), written] : [written];
    }
    const text = { alone: code, link: `link ${code}`, spelled: spelled(code), forwarded: code }[way];
    const seen = await this.#chats.answerTo(from, text, way === 'forwarded');
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
    const from = this.#chats.senderOf(who, platform, sender);
    if (by === 'word') {
      const seen = await this.#chats.answerTo(from, approve ? 'yes' : 'no', false);
      if (seen.is === 'done') this.#noteLink(platform, from.user, who);
      const certain = this.#certain(seen);
      return [(checker) => checker.word({ ...from, thread: null, mark: '' }, approve, certain)];
    }
    const id = this.#site.code(of, back)?.id ?? '';
    const button = this.#questions.get(id)?.[approve ? 0 : 1];
    // Without a question there is no button.
    if (button === undefined) return [];
    const { chat } = this.#chats.private(platform, from.user);
    const before = chat.length;
    const { request } = this.#chats.delivery(from, button, null, 'press');
    await this.#stage.world.deliver(request);
    await this.#stage.answered();
    const seen = this.#chats.answerSince(before, from);
    if (seen.is === 'done') this.#noteLink(platform, from.user, who);
    const certain = this.#certain(seen);
    return [(checker) => checker.press(from, { id, approve }, certain)];
  }

  #certain(seen: SeenAnswer): SeenAnswer {
    return this.#stage.isConcurrent ? { is: 'unclear' } : seen;
  }

  #noteLink(platform: Platform, user: string, who: Who): void {
    this.#linked.set(`${platform} ${user}`, { platform, user, who });
  }
}

/** As a person may write it. */
function spelled(code: string): string {
  return `${code.slice(0, 5)}-${code.slice(5)}`.toLowerCase();
}
