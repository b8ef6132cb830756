import { isObject } from '../../../channel/json-object.ts';
import { isInexact, mayBeInexact, nestsDeeper } from '../../syntax/json.ts';

type ReadArguments = { ok: true; args: Record<string, unknown> } | { ok: false; message: string };

/** Limits of the arguments of one call. Everything that reads arguments relies on them. */
const MAX_BYTES = 65_536;
const MAX_DEPTH = 32;
const MAX_VALUES = 10_000;

const TOO_DEEP = `The arguments are nested too deeply: at most ${MAX_DEPTH} levels of objects and lists can be sent.`;

/** The arguments cannot be used. The message is for the model. */
class UnusableArguments extends Error {}

/**
 * A copy of the arguments that a model filled in: one JSON object of limited size. Nothing is left out of it and no
 * number is rounded; what cannot be copied exactly is refused. What is checked, asked, recorded and sent is this copy.
 */
export function readArguments(given: unknown): ReadArguments {
  try {
    return { ok: true, args: copyArguments(given) };
  } catch (error) {
    if (error instanceof UnusableArguments) return { ok: false, message: error.message };
    // The stack is too small to write them.
    if (error instanceof RangeError) return { ok: false, message: TOO_DEEP };
    return { ok: false, message: 'The arguments must be JSON.' };
  }
}

function copyArguments(given: unknown): Record<string, unknown> {
  const json = writtenWithin(given ?? {});
  if (Buffer.byteLength(json) > MAX_BYTES)
    throw new UnusableArguments(
      `The arguments are too large: at most ${MAX_BYTES / 1024} KiB of JSON can be sent.`,
    );
  if (nestsDeeper(json, MAX_DEPTH)) throw new UnusableArguments(TOO_DEEP);
  const args: unknown = JSON.parse(json);
  if (!isObject(args)) throw new UnusableArguments('The arguments must be one JSON object.');
  if (mayBeInexact(json) && hasInexact(args)) throw inexact();
  return args;
}

/** Writes JSON, and stops as soon as there are too many values. */
function writtenWithin(given: unknown): string {
  let values = 0;
  const json = JSON.stringify(given, (_name, value: unknown) => {
    if (++values > MAX_VALUES)
      throw new UnusableArguments(
        `The arguments have too many values: at most ${MAX_VALUES.toLocaleString('en-US')} can be sent.`,
      );
    // JSON would have null for it.
    if (typeof value === 'number' && !Number.isFinite(value)) throw inexact();
    return value;
  });
  return json ?? 'null';
}

/**
 * Whether the value contains a number that is too large to be exact. The digits that the model wrote are already lost,
 * and the rounded number may be the id of something else.
 */
function hasInexact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isInexact(value);
  return Object.values(value).some(hasInexact);
}

function inexact(): UnusableArguments {
  return new UnusableArguments(
    'An argument has a number with too many digits: it cannot be sent exactly. Tell the person.',
  );
}

/** JSON with sorted member names, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
