import { isObject } from '../../../channel/json-object.ts';
import type { ToolRequest } from '../downstream/client.ts';
import { isAsciiHeaderValue } from '../downstream/headers.ts';
import { holdsControl, holdsSlash, isUnsafeSegment } from '../downstream/safe-path.ts';
import type { ToolArguments } from '../tool.ts';
import { encodeFields, encodeFile, encodeText } from './encode-body.ts';
import { pairName } from './find-operation.ts';
import { cannotContain, checkSpread, isMethodOverride } from './parameter-root.ts';
import { encode, headerText, pathText, queryPairs, UnusableArgument } from './parameter-styles.ts';
import { BODY, type RequestBody } from './read-body.ts';
import type { Operation, Parameter } from './read-operation.ts';

/** A request with the arguments, or a text that tells the model why there is none. */
type BuiltRequest = { ok: true; request: ToolRequest } | { ok: false; message: string };

/**
 * Builds the request for the arguments of a call (agentd-agent(7), "OpenAPI"). The arguments were checked against the
 * schema of the tool. This function checks what a schema cannot express: no argument may lead to another path, add
 * another parameter, or break a header.
 */
export function buildRequest(operation: Operation, args: ToolArguments): BuiltRequest {
  try {
    return { ok: true, request: buildToolRequest(operation, args) };
  } catch (error) {
    if (error instanceof UnusableArgument) return { ok: false, message: error.message };
    throw error;
  }
}

function buildToolRequest(operation: Operation, args: ToolArguments): ToolRequest {
  const { found, template, fixed, parameters, body } = operation;
  const given = parameters.filter(
    ({ property }) => Object.hasOwn(args, property) && args[property] !== undefined,
  );
  const problem = given.map((one) => unsendable(one, args[one.property])).find((text) => text !== null);
  if (problem !== undefined) throw new UnusableArgument(problem);
  const query = given
    .filter((one) => one.in === 'query')
    .flatMap((one) => buildQuery(one, args[one.property], operation));
  query.unshift(...fixed.map(encodeLiteral));
  const headers = given
    .filter((one) => one.in === 'header')
    .map((one) => [one.name, buildHeader(one, args[one.property])]);
  return {
    method: found.method,
    path: buildPath(template, parameters, args),
    ...(mayHaveSlashes(template, parameters) ? { allow_slash: true } : {}),
    ...(query.length > 0 ? { search: query.join('&') } : {}),
    ...(headers.length > 0 ? { headers: Object.fromEntries(headers) as Record<string, string> } : {}),
    ...buildBody(body, args),
  };
}

function buildBody(body: RequestBody | null, args: ToolArguments): Partial<ToolRequest> {
  if (body === null || !Object.hasOwn(args, BODY) || args[BODY] === undefined) return {};
  checkMethod(body, args[BODY]);
  switch (body.format) {
    case 'json':
      return { body: args[BODY], content_type: body.media_type };
    case 'text':
      return { encoded: encodeText(body, args[BODY]) };
    case 'file':
      return { encoded: encodeFile(body, args[BODY]) };
    default:
      return { encoded: encodeFields(body, args[BODY]) };
  }
}

/** A free field of the body must not change the method: a search could become a deletion that nobody confirmed. */
function checkMethod({ fields }: RequestBody, value: unknown): void {
  const names = isObject(value) ? Object.keys(value) : [];
  const other = names.find((name) => !fields.has(name) && isMethodOverride(name));
  if (other !== undefined) throw cannotContain(BODY, other);
}

/**
 * The path with its parameters filled in. A value adds no segment, unless its parameter has `allow_slash`, and a segment
 * with parameters never becomes empty, `.` or `..`, however often a proxy decodes it.
 */
function buildPath(template: string, parameters: readonly Parameter[], args: ToolArguments): string {
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
        const text = pathText(parameter, value);
        if (!parameter.allow_slash && holdsSlash(text))
          throw new UnusableArgument(
            `The argument \`${parameter.property}\` cannot contain \`/\` or \`\\\`, not even percent-encoded.`,
          );
        if (holdsControl(text))
          throw new UnusableArgument(
            `The argument \`${parameter.property}\` cannot contain control characters, not even percent-encoded.`,
          );
        return text;
      });
      if (names.length > 0 && isUnsafeSegment(filled)) {
        const whole = holdsSlash(filled) ? 'No part of the argument' : 'The argument';
        const may = holdsSlash(filled) ? 'can' : 'cannot';
        throw new UnusableArgument(`${whole} \`${names.join('`, `')}\` ${may} be empty, \`.\` or \`..\`.`);
      }
      return filled;
    })
    .join('/');
}

/** Whether a segment of the path can contain an encoded slash: from a parameter, or from the document itself. */
function mayHaveSlashes(template: string, parameters: readonly Parameter[]): boolean {
  return parameters.some(({ allow_slash }) => allow_slash) || template.split('/').some(holdsSlash);
}

/** Encodes fixed text of the path. Text that the document has percent-encoded is not encoded again. */
function encodeLiteral(text: string): string {
  return text.replace(/%[0-9A-Fa-f]{2}|[^%]+|%/g, (part) =>
    /^%[0-9A-Fa-f]{2}$/.test(part)
      ? part
      : encode(part).replace(/%(?:3A|40|21|24|26|27|28|29|2A|2B|2C|3B|3D)/g, decodeURIComponent),
  );
}

function buildQuery(parameter: Parameter, value: unknown, { parameters, fixed }: Operation): string[] {
  const names = parameters.filter((one) => one.in === 'query').map((one) => one.name);
  checkSpread(parameter, parameter.property, value, [...names, ...fixed.map(pairName)]);
  return queryPairs(parameter, value);
}

function buildHeader(parameter: Parameter, value: unknown): string {
  const text = headerText(parameter, value);
  if (!isAsciiHeaderValue(text))
    throw new UnusableArgument(
      `The argument \`${parameter.property}\` can contain only printable ASCII characters.`,
    );
  return text;
}

/**
 * Why a part of a parameter's value would be left out of the request; null if nothing is. The styles of parameters have
 * no form for null, for an empty list and for an empty object. An API could take a filter that is missing for all
 * records.
 */
function unsendable({ property, style }: Parameter, value: unknown): string | null {
  if (style === 'json') return null;
  const kind = emptyPart(value);
  return kind === null ? null : `The argument \`${property}\` cannot ${kind}. Leave that out.`;
}

function emptyPart(value: unknown, verb = 'be'): string | null {
  if (value === null) return `${verb} null`;
  if (typeof value !== 'object') return null;
  const parts = Object.values(value);
  if (parts.length === 0) return `${verb} an empty ${Array.isArray(value) ? 'list' : 'object'}`;
  return parts.map((part) => emptyPart(part, 'contain')).find((kind) => kind !== null) ?? null;
}
