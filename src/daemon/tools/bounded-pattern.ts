import { createContext, Script } from 'node:vm';

/** How long one comparison with a pattern may take, ms. */
const MAX_MS = 50;

/** How often a comparison begins that others kept from the processor. */
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
 * A regular expression of a schema, for Ajv. Patterns come from other people's documents and servers, and texts from
 * models: some patterns take longer than a lifetime for a short text, and the event loop would wait. Only a script in a
 * context can be ended from outside.
 */
export const boundedPattern = Object.assign(
  (source: string, flags: string): Pattern => {
    const pattern = new RegExp(source, flags);
    if (isQuick(source)) return pattern;
    return {
      // Ajv takes patterns with the same text for the same pattern.
      toString: () => String(pattern),
      test(text) {
        Object.assign(context, { pattern, text });
        for (let tries = 1; ; tries++) {
          const began = process.threadCpuUsage();
          try {
            return script.runInContext(context, { timeout: MAX_MS }) as boolean;
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
            // The time limit goes by the clock: on a busy machine, the comparison may hardly have run.
            if (tries === TRIES || cpuTime(began) > MAX_MS / 2) throw new PatternTimeout();
          }
        }
      },
    };
  },
  // Where generated code would get it from. No code of validators is stored.
  { code: 'boundedPattern' },
);

/** Of this thread since then, ms. */
function cpuTime(began: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}

/**
 * With at most one repetition, and none of a group, there is little to try; but a pattern that may begin anywhere in the
 * text tries it at each place.
 */
function isQuick(source: string): boolean {
  const repetitions = source.replace(/\(\?/g, '(').match(/[*+?{]/g) ?? [];
  if (repetitions.length === 0) return true;
  const beginsOnce = source.startsWith('^') && !source.includes('|');
  return repetitions.length === 1 && beginsOnce && !/\)[*+?{]/.test(source);
}
