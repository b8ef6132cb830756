import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import teamchat from '../../plugins/teamchat/index.ts';
import { signRequest } from '../../plugins/teamchat/verify.ts';
import type { SimulatedEvent } from '../../src/channel/index.ts';
import { type DaemonHere, startDaemonHere } from './daemon-here.ts';
import { Dictation } from './dictation.ts';
import { type DaemonAnswer, FakePlatform } from './fake-platform.ts';

export const EVENTS = '/webhook/teamchat/events';
export const COMMANDS = '/webhook/teamchat/commands';
/** The only channel of the simulated workspace. */
export const CHANNEL = 'C0LOUNGE';

/** Parts of a signed request that replace the default parts, for example to make the request invalid. */
export interface Sent {
  path?: string;
  body?: string;
  type?: string;
  secret?: string;
  /** Seconds from now. */
  signedAt?: number;
  headers?: Record<string, string>;
}

/** A daemon in a workspace, with an agent whose replies the test dictates. */
export class Workspace {
  readonly directory = mkdtempSync(join(tmpdir(), 'agentd-teamchat-'));
  readonly platform: FakePlatform;
  readonly dictation: Dictation;
  #daemon: DaemonHere | null = null;

  private constructor(platform: FakePlatform, dictation: Dictation) {
    this.platform = platform;
    this.dictation = dictation;
  }

  /** Opens a workspace. `run` starts its daemon. */
  static async open(): Promise<Workspace> {
    return new Workspace(await FakePlatform.start(teamchat), await Dictation.start());
  }

  /** Starts the daemon, or a new daemon after the previous one has ended. */
  async run(env: Record<string, string> = {}): Promise<DaemonHere> {
    const { directory, platform, dictation } = this;
    this.#daemon = await startDaemonHere({ directory, env: { ...platform.env, ...dictation.env, ...env } });
    return this.#daemon;
  }

  get daemon(): DaemonHere {
    if (this.#daemon === null) throw new Error('no daemon runs');
    return this.#daemon;
  }

  deliver(event: Partial<SimulatedEvent>): Promise<DaemonAnswer> {
    return this.platform.deliver(this.daemon, event);
  }

  signed({ path = EVENTS, body = '{}', type = 'application/json', secret, signedAt = 0, headers }: Sent) {
    const timestamp = String(Math.floor(Date.now() / 1000) + signedAt);
    const key = secret ?? String(this.platform.env.TEAMCHAT_SIGNING_SECRET);
    return {
      method: 'POST',
      path,
      body,
      headers: {
        'Content-Type': type,
        'X-Slack-Request-Timestamp': timestamp,
        'X-Slack-Signature': signRequest(key, timestamp, body),
        ...headers,
      },
    } as const;
  }

  send(sent: Sent): Promise<DaemonAnswer> {
    return this.platform.post(this.daemon, this.signed(sent));
  }

  /** The arguments of each message that the daemon tried to post to a channel, in order. */
  posts(channel?: string): Record<string, string>[] {
    return this.platform.calls
      .filter(({ path }) => path === '/chat.postMessage')
      .map(({ body, at }) => ({ ...Object.fromEntries(new URLSearchParams(body)), at: String(at) }))
      .filter((form: Record<string, string>) => channel === undefined || form.channel === channel);
  }

  /** Resolves to the texts of a channel, or of one thread in it, as soon as there are this many. */
  async texts(channel: string, count: number, thread?: string): Promise<string[]> {
    const found = () =>
      this.platform.shown
        .filter(({ what, to }) => what === 'message' && to === channel)
        .filter((shown) => thread === undefined || shown.thread === thread)
        .map(({ text }) => text);
    await this.platform.until(() => found().length >= count);
    return found();
  }

  /** Log lines whose message begins with this. */
  lines(start: string): string[] {
    return this.daemon
      .log()
      .map(({ msg }) => String(msg))
      .filter((msg) => msg.startsWith(start));
  }

  async close(): Promise<void> {
    await this.#daemon?.stop();
    await this.platform.close();
    await this.dictation.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** The answer of the dictated agent to `count <n>`, as it is shown. */
export function words(count: number): string {
  return Array.from({ length: count }, (_, n) => `word${n + 1}`).join(' ');
}

export function problemOf({ status, text }: DaemonAnswer): [number, string] {
  return [status, (JSON.parse(text) as { code: string }).code];
}
