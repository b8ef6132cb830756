import { isObject } from '../../channel/json-object.ts';
import { type Refusal, refusal, signInNeeded } from './call-outcome.ts';
import { isSameWord } from './same-word.ts';
import type { PersonClaims, Tool, ToolArguments } from './tool.ts';

/** A bound field of the body, as it is written under `bind`. */
const BODY_FIELD = /^body\.(.+)$/;

/** Where a bound parameter is in the arguments: the name of an argument, or `body` and the name of a field. */
export function boundPath(parameter: string): readonly [string] | readonly ['body', string] {
  const field = BODY_FIELD.exec(parameter)?.[1];
  return field === undefined ? [parameter] : ['body', field];
}

type Bound = { ok: true; args: ToolArguments } | { ok: false; refusal: Refusal };

/**
 * Fills the bound parameters of a call from the claims of the person whom the message acts for. If the arguments
 * contain a bound name at any depth, in upper or lower case, or beside it a name with the same letters (`accountId` for
 * `account_id`), the call is refused, because an API might read the value from there. The name of a bound field of the
 * body is searched only in the body.
 */
export function bindParameters(tool: Tool, given: ToolArguments, person: PersonClaims | null): Bound {
  let args = given;
  for (const [parameter, claim] of Object.entries(tool.bind)) {
    const [name, field] = boundPath(parameter);
    const within = field === undefined ? given : given.body;
    if (hasAlias(within, field ?? name) || names(within, field ?? name))
      return {
        ok: false,
        refusal: refusal(
          'bound_argument',
          `Leave \`${parameter}\` out: it is filled in from the person's sign-in.`,
        ),
      };
    const value = person && Object.hasOwn(person, claim) ? person[claim] : undefined;
    if (!isUsable(value))
      return { ok: false, refusal: signInNeeded(person ? 'claim_missing' : 'sign_in_needed') };
    if (field === undefined) {
      args = { ...args, [name]: value };
      continue;
    }
    const { body = {} } = args;
    if (!isObject(body))
      return {
        ok: false,
        refusal: refusal('invalid_arguments', 'The argument `body` must be of type object.'),
      };
    args = { ...args, body: { ...body, [field]: value } };
  }
  return { ok: true, args };
}

/**
 * The arguments of a call without the bound ones, so that they can be bound again. A body that consisted only of bound
 * fields becomes an empty object, as `bindParameters` would make it.
 */
export function unbindParameters({ bind }: Pick<Tool, 'bind'>, complete: ToolArguments): ToolArguments {
  const paths = Object.keys(bind).map(boundPath);
  const without = (value: ToolArguments, names: readonly string[]) =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
  const args = without(
    complete,
    paths.flatMap(([name, field]) => (field === undefined ? name : [])),
  );
  const fields = paths.flatMap(([, field]) => field ?? []);
  const { body } = args;
  if (fields.length === 0 || !isObject(body)) return args;
  return { ...args, body: without(body, fields) };
}

function isUsable(claim: unknown): boolean {
  return (typeof claim === 'string' && claim.trim() !== '') || typeof claim === 'number';
}

/** Whether the value has a member that a server may take for the one with that name. */
function hasAlias(value: unknown, name: string): boolean {
  return (
    typeof value === 'object' && value !== null && Object.keys(value).some((key) => isSameWord(key, name))
  );
}

/** Whether an object in this value has that name, at any depth. */
function names(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((entry) => names(entry, name));
  const wanted = name.toLowerCase();
  return Object.entries(value).some(([key, inner]) => key.toLowerCase() === wanted || names(inner, name));
}
