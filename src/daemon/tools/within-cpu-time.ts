import { createContext, Script } from 'node:vm';

/** Maximum number of attempts at work that gets too little processor time. */
const TRIES = 5;

/** The work took too long. */
export class CpuTimeExceeded extends Error {
  constructor() {
    super('it takes too long');
    this.name = 'CpuTimeExceeded';
  }
}

interface Sandbox {
  context: { work: (() => unknown) | null };
  script: Script;
}
let sandbox: Sandbox | null = null;

/**
 * Does work of unknown length, and interrupts it after a time limit. In the thread of the event loop, only a `node:vm`
 * script can be interrupted. That takes about half a millisecond, so work that is certainly quick should be done
 * directly.
 * @param work may be interrupted anywhere, without `finally`, and then begins again if it had too little processor time.
 * @throws CpuTimeExceeded
 */
export function withinCpuTime<T>(ms: number, work: () => T): T {
  sandbox ??= {
    context: createContext({ work: null }) as Sandbox['context'],
    script: new Script('work()'),
  };
  const { context, script } = sandbox;
  for (let tries = 1; ; tries++) {
    const began = process.threadCpuUsage();
    context.work = work;
    try {
      return script.runInContext(context, { timeout: ms }) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      // The limit is wall-clock time, so on a busy machine the work may hardly have run.
      if (tries === TRIES || cpuTime(began) > ms / 2) throw new CpuTimeExceeded();
    } finally {
      context.work = null;
    }
  }
}

/** CPU time of this thread since `began`, ms. */
function cpuTime(began: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}
