import { registerHooks } from 'node:module';

/** The modules of agentd that plugins and runtimes may import. */
const CONTRACTS = /^agentd\/(?:agent|channel(?:\/markdown)?)$/;

let areProvided = false;

/**
 * Lets modules of the operator import the contracts even if agentd is not installed in their folder, for example from a
 * single file, or from a package next to a global agentd. They get this daemon's copy. If agentd is installed there,
 * Node's own resolution finds it first.
 */
export function provideContracts(): void {
  if (areProvided) return;
  areProvided = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (!CONTRACTS.test(specifier)) return nextResolve(specifier, context);
      try {
        return nextResolve(specifier, context);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
