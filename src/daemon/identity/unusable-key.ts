/** A setting has no usable key. The error never quotes the value. */
export class UnusableKey extends Error {
  readonly setting: string;
  readonly problem: string;
  /** What a correct value would be. */
  readonly right: string;

  constructor(setting: string, problem: string, right: string, options?: { cause?: unknown }) {
    super(`${setting} ${problem}: ${right}`, options);
    this.name = 'UnusableKey';
    this.setting = setting;
    this.problem = problem;
    this.right = right;
  }
}
