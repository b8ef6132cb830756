import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';

/** A whole number from the command line, within bounds. Throws CliError (2) naming option, bounds and what came. */
export function wholeNumber(
  option: string,
  value: unknown,
  { min, max }: { min: number; max: number },
): number {
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new CliError(
    EXIT.usage,
    `${option} takes a whole number from ${min} to ${max}, not '${String(value)}'`,
  );
}
