type Close = () => unknown;

/** Programs without Vitest close what they have opened. */
let register: (close: Close) => void = () => {};

/**
 * Closes what a test has opened when the test ends; what is opened before the first test, at the end of the file. What
 * was opened last is closed first. The support code calls it, so that a test closes only what it needs closed earlier.
 * @param close may be called a second time
 */
export function closeAtEnd(close: Close): void {
  register(close);
}

/** Says how Vitest does this (close-opened.ts). */
export function registerWith(how: typeof register): void {
  register = how;
}
