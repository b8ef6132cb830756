/** Whether the tests run as `npm run test:thorough`, which takes hours: before a release, and each night. */
export const isThorough = Boolean(process.env.THOROUGH);

/** What a test does in `npm test`, and in `npm run test:thorough`: for example the number of rounds of a random test. */
export function effort<T>(usual: T, thorough: T): T {
  return isThorough ? thorough : usual;
}
