import { command } from './command.ts';
import { type Agentd, SECRET, type StartOptions, startAgentd } from './daemon.ts';
import { type DaemonHere, startDaemonHere } from './daemon-here.ts';
import { FakeApi, type FakeApiOptions } from './fake-api.ts';
import { type Answer, type Post, post } from './webchat.ts';

export const ADA = {
  id: 'user-ada',
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  orders: [{ number: 'A-1001', status: 'shipped' }],
};
export const GRACE = {
  id: 'user-grace',
  email: 'grace@example.com',
  name: 'Grace Hopper',
  orders: [{ number: 'G-2002', status: 'open' }],
};

/** A daemon in front of a shop's API, as its users and its operator see it. */
export interface Shop<Daemon = DaemonHere> {
  api: FakeApi;
  daemon: Daemon;
  /** Sends POST /webchat/message. */
  say(body: unknown, options?: Post): Promise<Answer>;
  /** Runs a command while the daemon runs. */
  run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** The output of `sessions show ID --json`; null if there is no such session. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  session(id: string): Promise<any>;
  /** `sub` of the bearer token of each lookup so far, in order. `service` is the default token. */
  lookedUpAs(): (string | null)[];
  stop(): Promise<void>;
}

export interface ShopOptions extends Pick<StartOptions, 'env' | 'directory'> {
  api?: Partial<FakeApiOptions>;
}

export function startShop(options: ShopOptions = {}): Promise<Shop> {
  return openShop(startDaemonHere, options);
}

/** The same with a daemon that a test can kill. */
export function startShopProcess(options: ShopOptions = {}): Promise<Shop<Agentd>> {
  return openShop(startAgentd, options);
}

async function openShop<Daemon extends DaemonHere>(
  start: (options: ShopOptions) => Promise<Daemon>,
  { api: apiOptions, ...options }: ShopOptions,
): Promise<Shop<Daemon>> {
  const api = await FakeApi.start({ secret: SECRET, users: [ADA, GRACE], ...apiOptions });
  const env = { ...api.env, ...options.env };
  const daemon = await start({ ...options, env });
  const run = (...args: string[]) => command(args, { cwd: daemon.directory, env });
  return {
    api,
    daemon,
    say: (body, post_options) => post(daemon.url, body, post_options),
    run,
    async session(id) {
      const { code, stdout } = await run('sessions', 'show', id, '--json');
      return code === 0 ? JSON.parse(stdout) : null;
    },
    lookedUpAs: () => api.seen('/users').map((request) => request.sub),
    async stop() {
      await daemon.stop();
      await api.close();
    },
  };
}

/** Delays everything that waits for `opened` until `open` is called. */
export function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
