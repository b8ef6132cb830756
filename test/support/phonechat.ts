import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import phonechat from '../../plugins/phonechat/index.ts';
import { toMessageId } from '../../plugins/phonechat/simulator.ts';
import type { SimulatedEvent } from '../../src/channel/index.ts';
import { command } from './command.ts';
import { SECRET } from './daemon.ts';
import { type DaemonHere, startDaemonHere } from './daemon-here.ts';
import { FakeApi } from './fake-api.ts';
import { type DaemonAnswer, FakePlatform, type PlatformCall } from './fake-platform.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const NUMBER_ID = '106540352242922';
/**
 * The numbers of two people in the samples, as the platform writes them, and the id of a person who hides their number.
 */
export const ADA = '16505551234';
const BOB = '16505555678';
const HIDDEN = 'US.13491208655302741918';

const SAMPLES = resolve(import.meta.dirname, '../fixtures/phonechat');

/** The body of a sample delivery, as the platform documents it. */
export function sample(name: string): string {
  return readFileSync(join(SAMPLES, `${name}.json`), 'utf8');
}

/** A daemon with the channel phonechat, the platform and a business API. */
export class Phonechat {
  readonly platform: FakePlatform;
  readonly api: FakeApi;
  readonly directory = temporaryFolder('phonechat');
  /** The people of this test, who send the messages of the samples. */
  ada = ADA;
  bob = BOB;
  hidden = HIDDEN;
  #daemon: DaemonHere | null = null;
  #settings: Record<string, string> = {};
  #meetings = 0;

  private constructor(platform: FakePlatform, api: FakeApi) {
    this.platform = platform;
    this.api = api;
  }

  static async prepare(): Promise<Phonechat> {
    return new Phonechat(await FakePlatform.start(phonechat), await FakeApi.start({ secret: SECRET }));
  }

  get env(): Record<string, string> {
    return {
      ...this.platform.env,
      ...this.api.env,
      ...this.#settings,
    };
  }

  async start(settings: Record<string, string> = {}): Promise<DaemonHere> {
    this.#settings = settings;
    this.#daemon = await startDaemonHere({ directory: this.directory, env: this.env });
    return this.#daemon;
  }

  /** Prepares the next test, with people whom the daemon does not know. */
  meet(): void {
    const meeting = ++this.#meetings;
    this.ada = String(16_505_551_000 + meeting);
    this.bob = String(16_505_556_000 + meeting);
    this.hidden = `US.134912086553027${40_000 + meeting}`;
    this.platform.forget();
    this.api.requests.length = 0;
    this.#daemon?.forget();
  }

  get daemon(): DaemonHere {
    if (!this.#daemon) throw new Error('the daemon is not running');
    return this.#daemon;
  }

  /** Runs a command while the daemon runs. */
  run(...args: string[]): ReturnType<typeof command> {
    return command(args, {
      cwd: this.directory,
      env: { ...this.env, STATE_DIR: join(this.directory, 'state') },
    });
  }

  /** A complete event. Default: a new message of the first person. */
  event(given: Partial<SimulatedEvent> = {}): SimulatedEvent {
    return this.platform.event({ user: this.ada, ...given });
  }

  deliver(given: Partial<SimulatedEvent> = {}): Promise<DaemonAnswer> {
    return this.platform.deliver(this.daemon, { user: this.ada, ...given });
  }

  /** The body of a sample delivery, as if the people of this test had written it. */
  sample(name: string): string {
    return sample(name)
      .replaceAll(ADA, this.ada)
      .replaceAll(BOB, this.bob)
      .replaceAll(HIDDEN, this.hidden)
      .replaceAll('"wamid.', `"wamid.${this.#meetings}`);
  }

  /** Posts a body with the signature that the platform would send. The given headers take precedence. */
  post(body: string, headers: Record<string, string> = {}): Promise<DaemonAnswer> {
    return this.platform.post(this.daemon, {
      method: 'POST',
      path: '/webhook/phonechat',
      headers: {
        'Content-Type': 'application/json',
        'X-Hub-Signature-256': this.signature(body),
        ...headers,
      },
      body,
    });
  }

  signature(body: string, secret = this.platform.env.PHONECHAT_APP_SECRET ?? ''): string {
    return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  }

  /** Calls that send a text to the people of this test, or to a group, with their bodies. */
  sends(): { call: PlatformCall; body: Record<string, unknown> }[] {
    const people = [this.ada, this.bob, this.hidden];
    return this.calls().filter(
      ({ body }) =>
        body.type === 'text' &&
        (body.recipient_type === 'group' || people.includes(String(body.to ?? body.recipient))),
    );
  }

  /** Calls that mark one of these messages as read. */
  marks(...events: SimulatedEvent[]): Record<string, unknown>[] {
    const ids: unknown[] = events.map(toMessageId);
    return this.calls().flatMap(({ body }) =>
      body.status === 'read' && ids.includes(body.message_id) ? [body] : [],
    );
  }

  /** Resolves to the texts that people see in a room, as soon as there are this many. */
  async texts(place: string, count: number): Promise<string[]> {
    await this.platform.until(() => this.platform.textsTo(place).length >= count);
    return this.platform.textsTo(place);
  }

  private calls() {
    // The daemon also looks up its numbers, with requests that have no body.
    const posted = this.platform.calls.filter(({ method }) => method === 'POST');
    return posted.map((call) => ({
      call,
      body: JSON.parse(call.body) as Record<string, unknown>,
    }));
  }
}
