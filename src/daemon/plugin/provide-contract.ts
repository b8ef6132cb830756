import { registerHooks } from 'node:module';

/** What a plugin may import of agentd. */
const CONTRACT = /^agentd\/channel(?:\/markdown)?$/;

let isProvided = false;

/**
 * Lets plugins import `agentd/channel` and `agentd/channel/markdown` where agentd is not installed beside them: a
 * single file of an operator, a package beside a global agentd. They get the copy of this daemon. An agentd that
 * is installed there comes first, as Node says.
 */
export function provideContract(): void {
  if (isProvided) return;
  isProvided = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (!CONTRACT.test(specifier)) return nextResolve(specifier, context);
      try {
        return nextResolve(specifier, context);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
