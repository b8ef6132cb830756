import type { OutgoingReply, PushPlugin, ResponsePlugin, StreamPlugin } from '../../src/channel/index.ts';
import { MESSAGE } from '../../src/daemon/store/inbox/inbox-document.ts';
import { TEXTS } from '../../src/daemon/texts/text-records.ts';
import type { SimulatedDaemon } from './daemon.ts';
import type { World } from './world.ts';

/** A text, or a part of a text, that the platform has accepted. */
export interface Taken {
  reply_id: string;
  part: number;
  text: string;
}

/** The platform of the channel `post`; it outlives the daemons. */
export class SimulatedPlatform {
  readonly taken: Taken[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** The channel plugin for one daemon. */
  pluginFor(daemon: SimulatedDaemon): PushPlugin {
    return {
      name: 'post',
      apiVersion: 1,
      summary: 'By post.',
      settings: [],
      detect: () => true,
      delivery: 'push',
      capabilities: { textLimit: null, markdown: 'none', typing: false },
      linking: { argument: 'NAME', idsOf: (given) => [given] },
      create: (scope) => ({
        routes: [],
        privateChat: (user_id) => ({ to: user_id }),
        privateSession: (user_id) => ({ thread_id: `post:private-${user_id}`, channel_id: user_id }),
        send: (reply) =>
          scope.sendParts(
            reply.id,
            () => reply.text.split('| '),
            (text, part) => this.#send(daemon, reply, text, part),
          ),
      }),
    };
  }

  #send(daemon: SimulatedDaemon, reply: OutgoingReply, text: string, part: number): Promise<void> {
    return this.#world.pass(daemon, {
      op: 'platform.send',
      effect: () => this.#take(reply, text, part),
      failure: () => Object.assign(new TypeError('fetch failed'), { code: 'ECONNRESET' }),
      words: () => `${reply.id} part ${part}: "${text}"`,
    });
  }

  #take(reply: OutgoingReply, text: string, part: number): void {
    const { state, report } = this.#world;
    if (reply.id.endsWith('-sign-in')) return;
    const isNotice = reply.id.endsWith('-notice');
    const id = isNotice ? reply.id.slice(0, -'-notice'.length) : reply.id;
    const message = state.get(MESSAGE, id)?.message;
    const stored = isNotice ? message?.notice : message?.reply;
    if (stored !== reply.text) report(`the platform was sent "${reply.text}", but "${stored}" is stored`);
    if (isNotice && reply.text !== TEXTS.failure_notice.default)
      report(`"${reply.text}" is not the failure notice`);
    const other = this.taken.find((one) => one.reply_id === reply.id && one.part === part);
    if (other && other.text !== text)
      report(`the platform was sent "${other.text}", then "${text}", as ${reply.id}`);
    this.taken.push({ reply_id: reply.id, part, text });
  }
}

const WEB = {
  apiVersion: 1,
  summary: 'For web clients.',
  settings: [],
  detect: () => true,
  capabilities: { namespace: 'web', textLimit: null, markdown: 'commonmark', typing: false },
  create: () => ({ routes: [] }),
} as const;

/** The channel that answers in the response. */
export const CHAT: ResponsePlugin = { ...WEB, name: 'chat', delivery: 'response' };
/** The channel that answers on event streams. It shares its sessions with `chat`. */
export const FEED: StreamPlugin = { ...WEB, name: 'feed', delivery: 'stream' };
