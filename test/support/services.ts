import { setMaxListeners } from 'node:events';
import { tmpdir } from 'node:os';
import type { AgentRuntime } from '../../src/daemon/agent/agent.ts';
import { type AlarmClock, systemClock } from '../../src/daemon/clock.ts';
import { type Configuration, configure } from '../../src/daemon/configuration/configure.ts';
import { importKeys } from '../../src/daemon/identity/keys.ts';
import { createSeal } from '../../src/daemon/identity/seal.ts';
import { createValidator } from '../../src/daemon/identity/validator.ts';
import { RequestSequencer } from '../../src/daemon/message/request-sequencer.ts';
import { RunSlots } from '../../src/daemon/message/run-slots.ts';
import { SessionLock } from '../../src/daemon/message/session-lock.ts';
import { WaitLimit } from '../../src/daemon/message/wait-limit.ts';
import { Secret } from '../../src/daemon/secret.ts';
import { ClaimKeeper } from '../../src/daemon/store/claim-keeper.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { Broadcaster } from '../../src/daemon/stream/broadcaster.ts';
import { Readers } from '../../src/daemon/stream/readers.ts';
import type { StreamServices } from '../../src/daemon/stream/stream-services.ts';
import { createTools } from '../../src/daemon/tools/registry.ts';
import { baseEnv } from './daemon.ts';
import { collectLog, type LogLine } from './log-lines.ts';

export interface TestServicesOptions {
  store: Store;
  clock?: AlarmClock;
  agent?: AgentRuntime;
  /** Settings, as in the environment. */
  env?: Readonly<Record<string, string>>;
  /** TOKEN_ENCRYPTION_KEY */
  sealKey?: string | undefined;
}

export interface TestServices {
  services: StreamServices;
  configuration: Configuration;
  lines: LogLine[];
  /** Aborts `services.stopping`. */
  stopping: AbortController;
}

/** The services of a daemon, made as serve.ts makes them, on this store and clock. */
export async function testServices(options: TestServicesOptions): Promise<TestServices> {
  const { store, clock = systemClock, agent = SILENT } = options;
  const configuration = await configured({ ...baseEnv(tmpdir()), ...options.env });
  const { settings, channels } = configuration;
  const { log, lines } = collectLog();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const seal = createSeal(options.sealKey === undefined ? undefined : new Secret(options.sealKey));
  const claims = new ClaimKeeper(clock, log);
  const waits = new WaitLimit(clock, stopping.signal, {
    max: settings.AGENT_QUEUE_MAX,
    wait_ms: settings.AGENT_QUEUE_WAIT_SECONDS * 1000,
  });
  const services: StreamServices = {
    settings,
    clock,
    log,
    store,
    tokens: createValidator(settings, await importKeys(settings), clock, log),
    seal,
    agent,
    tools: createTools(settings, { clock, log, seal }),
    sequencer: new RequestSequencer(),
    sessions: new SessionLock({ sessions: store.sessions, claims, clock, waits }),
    runs: new RunSlots(settings.AGENT_CONCURRENCY, waits),
    claims,
    broadcaster: new Broadcaster({ streams: store.streams, clock, log }),
    readers: new Readers(),
    channelNames: channels.map(({ plugin }) => plugin.name),
    running: new Set(),
    stopping: stopping.signal,
  };
  return { services, configuration, lines, stopping };
}

const SILENT: AgentRuntime = {
  apiVersion: 1,
  // biome-ignore lint/correctness/useYield: no test may come to it
  async *run() {
    throw new Error('no run was expected');
  },
};

const configurations = new Map<string, Promise<Configuration>>();

/** The same for the same settings: tests make many services. */
function configured(env: Record<string, string>): Promise<Configuration> {
  const key = JSON.stringify(env);
  const configuration = configurations.get(key) ?? configure({ env, cwd: tmpdir() });
  configurations.set(key, configuration);
  return configuration;
}
