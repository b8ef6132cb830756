/** A function of a plugin returned a promise where the contract has a plain value. */
export class PromiseReturned extends TypeError {
  constructor(what: string) {
    super(`\`${what}\` returned a promise, but must return a plain value`);
    this.name = 'PromiseReturned';
  }
}

/**
 * The value that a function of a plugin returned, where the contract has a plain value. If it is a promise, nobody would
 * handle its rejection, which would end the process, perhaps with each message.
 * @param what the name of the function
 * @throws PromiseReturned
 */
export function plainValue<T>(value: T, what: string): T {
  if (!(value instanceof Promise)) return value;
  value.catch(() => {});
  throw new PromiseReturned(what);
}
