import { createContext, Script } from 'node:vm';

/** How long one comparison with a pattern may take, ms. */
const MAX_MS = 50;

/** Maximum number of attempts at a comparison that gets too little processor time. */
const TRIES = 5;

/** A text could not be compared with a pattern in time. */
export class PatternTimeout extends Error {
  constructor() {
    super('a pattern of the schema takes too long to compare');
    this.name = 'PatternTimeout';
  }
}

interface Pattern {
  test(text: string): boolean;
  toString(): string;
}

const context = createContext({ pattern: null as RegExp | null, text: '' });
const script = new Script('pattern.test(text)');

/**
 * A regular expression of a schema, for Ajv. Patterns come from other people's documents and servers, and texts come
 * from models. With some patterns, even a short text would block the event loop practically forever. In the thread
 * of the event loop, only a `node:vm` script can be stopped after a timeout.
 */
export const boundedPattern = Object.assign(
  (source: string, flags: string): Pattern => {
    const pattern = new RegExp(source, flags);
    if (isQuick(source)) return pattern;
    return {
      // Ajv treats patterns with equal texts as the same pattern.
      toString: () => String(pattern),
      test(text) {
        Object.assign(context, { pattern, text });
        for (let tries = 1; ; tries++) {
          const began = process.threadCpuUsage();
          try {
            return script.runInContext(context, { timeout: MAX_MS }) as boolean;
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
            // The limit is wall-clock time, so on a busy machine the comparison may hardly have run.
            if (tries === TRIES || cpuTime(began) > MAX_MS / 2) throw new PatternTimeout();
          }
        }
      },
    };
  },
  // Ajv uses this name only in validator code that is stored, and agentd never stores such code.
  { code: 'boundedPattern' },
);

/** CPU time of this thread since `began`, ms. */
function cpuTime(began: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}

/**
 * Whether a pattern is certainly quick. A pattern without a repetition is quick. A pattern with one repetition is quick
 * if it does not repeat a group and can begin only at the start of the text. A pattern that can begin anywhere is tried
 * at each position of the text.
 */
function isQuick(source: string): boolean {
  const repetitions = source.replace(/\(\?/g, '(').match(/[*+?{]/g) ?? [];
  if (repetitions.length === 0) return true;
  const beginsOnce = source.startsWith('^') && !source.includes('|');
  return repetitions.length === 1 && beginsOnce && !/\)[*+?{]/.test(source);
}
