import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findCanaries } from '../support/canary.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakeModel } from '../support/fake-model.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { CANARIES } from './checker.ts';
import { Company } from './company.ts';

/** The daemon as a program, with its surroundings: the company, a model, and the platforms. */
export class World {
  readonly directory: string;
  readonly company: Company;
  readonly model: FakeModel;
  readonly platforms: ReadonlyMap<string, FakePlatform>;
  readonly daemon: Agentd;
  /** Settings of commands that run while the daemon runs. */
  readonly env: Record<string, string>;

  private constructor(parts: Omit<World, 'close' | 'cpuSeconds' | 'leaks'>) {
    this.directory = parts.directory;
    this.company = parts.company;
    this.model = parts.model;
    this.platforms = parts.platforms;
    this.daemon = parts.daemon;
    this.env = parts.env;
  }

  /** @param options `bin`: the program to run instead of the build */
  static async open(options: {
    defaultToken: string;
    maxSteps: number;
    bin?: string;
    env?: Record<string, string>;
  }): Promise<World> {
    const directory = await mkdtemp(join(tmpdir(), 'agentd-hostile-'));
    const [company, model, ...platforms] = await Promise.all([
      Company.open(options.defaultToken),
      FakeModel.start(),
      ...PLATFORMS.map(async ({ plugin }) => [plugin.name, await FakePlatform.start(plugin)] as const),
    ]);
    const env: Record<string, string> = {
      ...company.configure(directory),
      ...Object.assign({}, ...platforms.map(([, platform]) => platform.env)),
      SSE_ENABLED: 'true',
      AGENT_MODEL: 'hostile',
      AGENT_BASE_URL: model.url,
      AGENT_MAX_STEPS: String(options.maxSteps),
      LOG_LEVEL: 'DEBUG',
      ...options.env,
    };
    const { bin } = options;
    const daemon = await startAgentd({ directory, env, ...(bin === undefined ? {} : { bin }) });
    return new World({ directory, company, model, platforms: new Map(platforms), daemon, env });
  }

  /** The CPU time that the daemon has used so far, in seconds. */
  get cpuSeconds(): number {
    const [, rest = ''] = readFileSync(`/proc/${this.daemon.pid}/stat`, 'utf8').split(') ');
    const fields = rest.split(' ');
    const TICKS_PER_SECOND = 100;
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  /** Finds secrets in the log of the daemon, in its banner and in its database. */
  leaks(): string[] {
    const file = (name: string) => [name, readFileSync(join(this.directory, name))] as const;
    return findCanaries(
      Object.entries(CANARIES).map(([name, value]) => ({ name, value })),
      new Map([
        ['the log', Buffer.from(this.daemon.stderr())],
        ['the banner', Buffer.from(this.daemon.stdout())],
        file('state/agentd.db'),
      ]),
    );
  }

  async close(): Promise<void> {
    await this.daemon.stop('SIGKILL');
    await Promise.all([
      this.company.close(),
      this.model.close(),
      ...[...this.platforms.values()].map((platform) => platform.close()),
    ]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
