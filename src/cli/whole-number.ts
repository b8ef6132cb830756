import { usageError } from './cli-error.ts';

/** A whole number from the command line. Throws CliError (2) if the value is anything else, or out of bounds. */
export function wholeNumber(
  option: string,
  value: unknown,
  { min, max }: { min: number; max: number },
): number {
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw usageError(`${option} takes a whole number from ${min} to ${max}, not '${String(value)}'`);
}
