import { acceptsLogout } from '../identity/logout-token.ts';
import type { Services } from '../message/services.ts';
import type { Log } from '../process/log.ts';
import { type Configuration, ConfigurationError, configure } from '../settings/configure/configure.ts';
import type { ConfigLocation } from '../settings/sources.ts';
import type { ReloadChanges, ReloadReport } from '../store/reloads.ts';
import { digestRecord } from '../tools/definition-digest.ts';
import { canonicalJson } from '../tools/schema/read-arguments.ts';
import { makeRevision, type Revision, type RevisionParts } from './revision.ts';

interface ReloaderParts {
  /** Where the settings are looked for. */
  location: ConfigLocation;
  revision: Revision;
  /** The services of the daemon, in which the new ones replace the old ones. */
  services: Services;
  make: RevisionParts;
  log: Log;
}

const NO_CHANGES: ReloadChanges = {
  settings: [],
  files: [],
  tools: { added: [], removed: [], changed: [] },
};

const NOTHING = { changes: NO_CHANGES, restart: [], warnings: [], problems: [], reason: null };

/**
 * Reads the configuration of a running daemon again. It is checked as a whole; then it is taken over between two turns,
 * or not at all. Turns that have begun end with what they began with.
 */
export class Reloader {
  readonly #parts: ReloaderParts;
  readonly #log: Log;
  #revision: Revision;
  #last: Promise<unknown> = Promise.resolve();
  /** Revisions whose last turns are still running. */
  readonly #retiring = new Set<Promise<void>>();
  #isStopped = false;

  constructor(parts: ReloaderParts) {
    this.#parts = parts;
    this.#log = parts.log;
    this.#revision = parts.revision;
  }

  /** The configuration that is in use. */
  get configuration(): Configuration {
    return this.#revision.configuration;
  }

  /**
   * Reads the configuration, and takes it over if it is valid. One reload follows the other. Never rejects.
   * @param cause what has asked for it, for the log
   */
  reload(cause: string): Promise<ReloadReport> {
    const work = this.#last.then(() => this.#reload(cause));
    this.#last = work;
    return work;
  }

  /** Waits for a running reload, then stops the sources of tools of all revisions. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#last;
    await Promise.allSettled([...this.#retiring, this.#revision.registry.stop()]);
  }

  async #reload(cause: string): Promise<ReloadReport> {
    const agent_digest = this.#revision.services.agents.digest();
    const nothing = { ...NOTHING, agent_digest };
    if (this.#isStopped) return { ...nothing, outcome: 'failed', reason: 'the daemon is stopping' };
    try {
      const outcome = await this.#takeOver();
      tell(outcome, cause, this.#log);
      return outcome;
    } catch (error) {
      if (error instanceof ConfigurationError) {
        const settings = error.problems.map(({ setting }) => setting);
        this.#log.error(
          { cause, settings, err: error },
          'the new configuration is wrong; nothing was taken over',
        );
        return { ...nothing, outcome: 'refused', problems: error.problems };
      }
      this.#log.error(
        { cause, err: error },
        'the configuration could not be read again; nothing was taken over',
      );
      const reason = error instanceof Error ? error.message : String(error);
      return { ...nothing, outcome: 'failed', reason };
    }
  }

  async #takeOver(): Promise<ReloadReport> {
    const { location, services, make, revision: started } = this.#parts;
    const before = this.#revision;
    const configuration = await configure(location, before.configuration);
    const after = await makeRevision(configuration, make, before);
    const changes = compareRevisions(before, after);
    const restart = needsRestart(started.configuration, configuration);
    const warnings = [...configuration.warnings, ...after.warnings];
    const isChanged = !isEmpty(changes);
    // Without a change, the old revision stays, so that nothing is lost, such as tokens in memory.
    if (isChanged) {
      this.#revision = after;
      // No turn begins within this tick, so each turn gets all of the old services or all of the new ones.
      Object.assign(services, after.services);
      this.#log.level = after.services.settings.LOG_LEVEL.toLowerCase();
      services.runs.resized();
    }
    this.#retire(isChanged ? before : after, this.#revision);
    return {
      ...NOTHING,
      outcome: isChanged ? 'changed' : 'unchanged',
      changes,
      restart,
      warnings,
      agent_digest: (isChanged ? after : before).services.agents.digest(),
    };
  }

  /** Stops the sources that only the old revision has, after its last turn. */
  #retire(old: Revision, current: Revision): void {
    const kept = new Set<unknown>(current.registry.sources);
    const dropped = old.registry.sources.filter((source) => !kept.has(source));
    const work = old.services.use
      .ended()
      .then(() => Promise.allSettled(dropped.map((source) => source.stop())))
      .then(() => void this.#retiring.delete(work));
    this.#retiring.add(work);
  }
}

/**
 * The settings that have a new value but keep the old one.
 * @param started the configuration with which the daemon has started: its channels and paths are still those that run
 */
function needsRestart(started: Configuration, after: Configuration): string[] {
  const names = ({ channels }: Configuration) => channels.map(({ plugin }) => plugin.name).join();
  const channels = names(started) === names(after) ? [] : ['MESSAGING_PLATFORMS'];
  const plugins = started.available.join() === after.available.join() ? [] : ['plugins'];
  // The path of sign-outs is made when the daemon starts.
  const logout =
    acceptsLogout(started.settings) === acceptsLogout(after.settings) ? [] : ['JWT_ISSUER', 'JWT_AUDIENCE'];
  return [...new Set([...after.compared.fixed, ...channels, ...plugins, ...logout])];
}

function tell({ outcome, ...about }: ReloadReport, cause: string, log: Log) {
  const { changes, restart, warnings, agent_digest } = about;
  if (outcome === 'changed')
    log.info({ cause, ...changes, agent_digest }, 'the new configuration was taken over');
  else log.info({ cause, agent_digest }, 'the configuration was read again; nothing has changed');
  if (restart.length > 0)
    log.warn({ cause, settings: restart }, 'these settings cannot change while the daemon runs; restart it');
  for (const warning of warnings) log.warn({}, warning);
}

/** What differs between two revisions. */
function compareRevisions(before: Revision, after: Revision): ReloadChanges {
  const { compared, structured } = after.configuration;
  const keys = [...new Set([...before.configuration.structured.keys(), ...structured.keys()])];
  const isChanged = (key: string) =>
    canonicalJson(before.configuration.structured.get(key) ?? null) !==
    canonicalJson(structured.get(key) ?? null);
  const paths = [...new Set([...before.files.keys(), ...after.files.keys()])];
  // A file that only one of them names is a new value of its setting.
  const isOther = (path: string) =>
    before.files.has(path) && after.files.has(path) && before.files.get(path) !== after.files.get(path);
  return {
    settings: [...compared.changed, ...keys.filter(isChanged)],
    files: paths.filter(isOther),
    tools: compareTools(digestTools(before), digestTools(after)),
  };
}

type Digests = ReadonlyMap<string, string>;

function compareTools(before: Digests, after: Digests): ReloadChanges['tools'] {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after.keys()].filter((name) => before.has(name) && before.get(name) !== after.get(name)),
  };
}

function digestTools({ registry }: Revision): Digests {
  return new Map(registry.tools().map((tool) => [tool.name, digestRecord(tool)]));
}

function isEmpty({ settings, files, tools }: ReloadChanges): boolean {
  return [settings, files, ...Object.values(tools)].every(({ length }) => length === 0);
}
