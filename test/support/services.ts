import { tmpdir } from 'node:os';
import type { AgentRuntime } from '../../src/agent/index.ts';
import { LongTermMemory } from '../../src/daemon/agent/long-term-memory.ts';
import { ONLY_AGENT } from '../../src/daemon/agents/agent-entry.ts';
import { Agents } from '../../src/daemon/agents/agents.ts';
import { createServices } from '../../src/daemon/create-services.ts';
import { importKeys } from '../../src/daemon/identity/keys.ts';
import { createSeal } from '../../src/daemon/identity/seal.ts';
import { createValidator, markedValidator } from '../../src/daemon/identity/token-checks.ts';
import { UseCount } from '../../src/daemon/message/waits/use-count.ts';
import { type Configuration, configure } from '../../src/daemon/settings/configure/configure.ts';
import { knownSecrets } from '../../src/daemon/settings/known-secrets.ts';
import { Secret } from '../../src/daemon/settings/secret.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StreamServices } from '../../src/daemon/stream/stream-services.ts';
import type { Texts } from '../../src/daemon/texts/texts.ts';
import { type AlarmClock, systemClock } from '../../src/daemon/time/clock.ts';
import { builtInTools, createRegistry } from '../../src/daemon/tools/registry.ts';
import type { ToolSource } from '../../src/daemon/tools/tool.ts';
import { createToolAccess } from '../../src/daemon/tools/tool-access.ts';
import { NO_OBSERVER } from '../../src/daemon/trace/observer.ts';
import { baseEnv } from './daemon.ts';
import { collectLog, type LogLine } from './log-lines.ts';

export interface TestServicesOptions {
  store: Store;
  clock?: AlarmClock;
  agent?: AgentRuntime;
  /** Settings, by the names of their environment variables. */
  env?: Readonly<Record<string, string>>;
  /** Tools of one source, in addition to the built-in ones. */
  tools?: ToolSource;
  /** Texts that replace those of the configuration. */
  texts?: Texts;
  /** The value of TOKEN_ENCRYPTION_KEY. */
  sealKey?: string | undefined;
}

export interface TestServices {
  services: StreamServices;
  configuration: Configuration;
  lines: LogLine[];
  /** Aborts `services.stopping`. */
  stopping: AbortController;
}

/** The services of a daemon, created as in serve.ts, with this store and clock. */
export async function testServices(options: TestServicesOptions): Promise<TestServices> {
  const { store, clock = systemClock, agent = SILENT } = options;
  const configuration = await configured({ ...baseEnv(tmpdir()), ...options.env });
  const { settings, channels } = configuration;
  const { log, lines } = collectLog();
  const stopping = new AbortController();
  const seal = createSeal(options.sealKey === undefined ? undefined : new Secret(options.sealKey));
  const tools = createRegistry([builtInTools(settings), ...(options.tools ? [options.tools] : [])], {
    access: createToolAccess(settings, { clock, log, seal, marks: store.signOutMarks }),
    log,
  });
  const services = createServices({
    settings,
    clock,
    log,
    observer: NO_OBSERVER,
    store,
    tokens: markedValidator(
      createValidator(settings, await importKeys(settings), clock, log),
      store.signOutMarks,
      log,
    ),
    seal,
    renewer: null,
    secrets: knownSecrets(configuration.effective.map(({ value }) => value)),
    agent,
    agents: new Agents(
      [{ entry: ONLY_AGENT, runtime: agent, instructions: undefined, settings }],
      tools,
      () => store.audit.key(),
    ),
    tools,
    logoutTokens: null,
    use: new UseCount(),
    texts: options.texts ?? configuration.texts,
    memory: store.memories && new LongTermMemory({ memories: store.memories, clock, log }),
    channelNames: channels.map(({ plugin }) => plugin.name),
    stopping: stopping.signal,
  });
  return { services, configuration, lines, stopping };
}

const SILENT: AgentRuntime = {
  apiVersion: 1,
  // biome-ignore lint/correctness/useYield: no test may start a run
  async *run() {
    throw new Error('no run was expected');
  },
};

const configurations = new Map<string, Promise<Configuration>>();

/** The configuration for these settings. It is cached, because tests create many services. */
function configured(env: Record<string, string>): Promise<Configuration> {
  const key = JSON.stringify(env);
  const configuration = configurations.get(key) ?? configure({ env, cwd: tmpdir() });
  configurations.set(key, configuration);
  return configuration;
}
