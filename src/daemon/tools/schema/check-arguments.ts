import type { JsonSchema, ToolArguments } from '../tool.ts';
import { compileSchema, dropValidator, type Validator } from './compile-schema.ts';
import { describeErrors } from './describe-errors.ts';
import { ExplosiveSchema, withinCpuTime } from './examine-schema.ts';
import { readArguments } from './read-arguments.ts';
import { RepeatedName, withOriginalNames } from './safe-names.ts';

type Checked =
  | { ok: true; args: ToolArguments }
  /** `too_slow`: the check was interrupted. */
  | { ok: false; message: string; too_slow?: true };

/** How long checking the arguments of one call may take, ms. */
const CHECK_MS = 250;
/** If a check finds more errors than this, they are not kept in memory. */
const MAX_KEPT_ERRORS = 1_000;

/**
 * Checks the arguments that a model filled in against the whole JSON Schema of a tool. Nothing is added to them, and
 * nothing is left out; only safe names of properties become the names that the API knows (safe-names.ts). If the
 * arguments are wrong, `message` says what the model must correct.
 */
export function checkArguments(schema: JsonSchema, given: unknown): Checked {
  const read = readArguments(given);
  return read.ok ? checkRead(schema, read.args) : read;
}

/** Checks arguments that `readArguments` has copied. */
export function checkRead(schema: JsonSchema, args: ToolArguments): Checked {
  try {
    const validator = compileSchema(schema);
    if (limitTime(validator, () => validator.validate(args)))
      return { ok: true, args: limitTime(validator, () => withOriginalNames(schema, args)) };
    const errors = validator.validate.errors ?? [];
    if (errors.length > MAX_KEPT_ERRORS) dropValidator(schema);
    return { ok: false, message: describeErrors(errors, args) };
  } catch (error) {
    dropValidator(schema);
    // A RangeError: the schemas that are applied to the values are nested too deeply for the stack.
    if (error instanceof ExplosiveSchema || error instanceof RangeError)
      return {
        ok: false,
        message: 'The arguments take too long to check. Use fewer or simpler values.',
        too_slow: true,
      };
    if (error instanceof RepeatedName)
      return { ok: false, message: `The arguments cannot be sent: ${error.message}. Use one.` };
    throw error;
  }
}

function limitTime<T>({ is_quick }: Validator, work: () => T): T {
  return is_quick ? work() : withinCpuTime(CHECK_MS, work);
}
