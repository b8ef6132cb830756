import type { ToolArguments } from '../tool.ts';
import type { ToolRequest } from '../tool-client.ts';
import { encode, headerText, pathText, queryPairs } from './parameter-styles.ts';
import { BODY, type Operation, type Parameter } from './read-operation.ts';
import { unsendable } from './unsendable.ts';

/** A request with the arguments, or a text that tells the model why there is none. */
export type BuiltRequest = { ok: true; request: ToolRequest } | { ok: false; message: string };

/** A mistake that the model can correct. */
class UnusableArgument extends Error {}

/**
 * Builds the request for the arguments of a call (agentd-agent(7), "OpenAPI"). The arguments were checked against the
 * schema of the tool. This function checks what a schema cannot express: no argument may lead to another path, add
 * another parameter, or break a header.
 */
export function buildRequest(operation: Operation, args: ToolArguments): BuiltRequest {
  try {
    return { ok: true, request: requestOf(operation, args) };
  } catch (error) {
    if (error instanceof UnusableArgument) return { ok: false, message: error.message };
    throw error;
  }
}

function requestOf({ found, parameters, body }: Operation, args: ToolArguments): ToolRequest {
  const given = parameters.filter(
    ({ property }) => Object.hasOwn(args, property) && args[property] !== undefined,
  );
  const problem = given.map((one) => unsendable(one, args[one.property])).find((text) => text !== null);
  if (problem !== undefined) throw new UnusableArgument(problem);
  const query = given
    .filter((one) => one.in === 'query')
    .flatMap((one) => queryOf(one, args[one.property], parameters));
  const headers = given
    .filter((one) => one.in === 'header')
    .map((one) => [one.name, headerOf(one, args[one.property])]);
  const hasBody = body !== null && Object.hasOwn(args, BODY) && args[BODY] !== undefined;
  return {
    method: found.method,
    path: pathOf(found.path, parameters, args),
    ...(query.length > 0 ? { search: query.join('&') } : {}),
    ...(headers.length > 0 ? { headers: Object.fromEntries(headers) as Record<string, string> } : {}),
    ...(hasBody ? { body: args[BODY], content_type: body.media_type } : {}),
  };
}

/** The path with its parameters filled in. A segment with parameters must not become empty, `.` or `..`. */
function pathOf(template: string, parameters: readonly Parameter[], args: ToolArguments): string {
  return template
    .split('/')
    .map((segment) => {
      const names: string[] = [];
      const filled = segment.replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name: string | undefined) => {
        if (name === undefined) return encodeLiteral(literal);
        const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
        const value = parameter === undefined ? undefined : args[parameter.property];
        if (parameter === undefined || value === undefined || value === null)
          throw new UnusableArgument(`The argument \`${parameter?.property ?? name}\` is missing.`);
        names.push(parameter.property);
        return pathText(parameter, value);
      });
      if (names.length > 0 && /^\.{0,2}$/.test(filled))
        throw new UnusableArgument(
          `The argument \`${names.join('`, `')}\` cannot be empty, \`.\` or \`..\`.`,
        );
      return filled;
    })
    .join('/');
}

/** Encodes fixed text of the path. Text that the document has percent-encoded is not encoded again. */
function encodeLiteral(text: string): string {
  return text.replace(/%[0-9A-Fa-f]{2}|[^%]+|%/g, (part) =>
    /^%[0-9A-Fa-f]{2}$/.test(part)
      ? part
      : encode(part).replace(/%(?:3A|40|21|24|26|27|28|29|2A|2B|2C|3B|3D)/g, decodeURIComponent),
  );
}

function queryOf(parameter: Parameter, value: unknown, all: readonly Parameter[]): string[] {
  const { style, explode, property } = parameter;
  const isSpread = explode && style !== 'deepObject' && style !== 'json';
  if (isSpread && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    // Each member of the object becomes a separate parameter. None of them may replace another parameter.
    const others = all
      .filter((one) => one.in === 'query' && one !== parameter)
      .map((one) => rootOf(one.name));
    const other = Object.keys(value).find((key) => others.includes(rootOf(key)));
    if (other !== undefined)
      throw new UnusableArgument(`The argument \`${property}\` cannot contain \`${other.slice(0, 64)}\`.`);
  }
  return queryPairs(parameter, value);
}

/** The name under which servers read a parameter: `filter` for `Filter[a]`. Some servers ignore case. */
function rootOf(name: string): string {
  return (name.split('[', 1)[0] ?? '').trim().toLowerCase();
}

function headerOf(parameter: Parameter, value: unknown): string {
  const text = headerText(parameter, value);
  // The characters of RFC 9110, "Field Values", except bytes whose meaning is unknown (obs-text).
  if (!/^[\t\x20-\x7e]*$/.test(text))
    throw new UnusableArgument(
      `The argument \`${parameter.property}\` can contain only printable ASCII characters.`,
    );
  return text;
}
