import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { createGeneratorSync } from 'json-schema-faker';
import { type Document, OpenAPIBackend } from 'openapi-backend';
import { afterAll, expect, test } from 'vitest';
import { describeSource } from '../../../../src/daemon/tools/describe-source.ts';
import type { ToolRequest } from '../../../../src/daemon/tools/downstream/client.ts';
import type { EncodedBody } from '../../../../src/daemon/tools/downstream/form-body.ts';
import { readDocument } from '../../../../src/daemon/tools/openapi/document.ts';
import {
  type FoundOperation,
  findOperations,
  operationKey,
} from '../../../../src/daemon/tools/openapi/find-operation.ts';
import { readOpenApiTools } from '../../../../src/daemon/tools/openapi/openapi-source.ts';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import type { Tool, ToolArguments } from '../../../../src/daemon/tools/tool.ts';
import { effort } from '../../../support/effort.ts';
import { API } from '../../../support/openapi.ts';
import { openApiEntry } from '../../../support/tools.ts';

// The documents are public API descriptions of several companies (test/fixtures/openapi). Every operation becomes a
// tool. An independent implementation of OpenAPI accepts the requests of the tools, and a form contains what the
// arguments contain.

const folder = mkdtempSync(join(tmpdir(), 'agentd-documents-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The other implementation compiles and checks one of this many operations. It takes most of the time. */
const EXAMINED = effort(4, 1);
const DOCUMENTS = [
  ['adyen-checkout', 25],
  ['asana', 167],
  ['figma', 54],
  ['stripe', 452],
] as const;

test.each(DOCUMENTS)(
  'all operations of %s become tools, and the requests of the tools are valid',
  async (name, count) => {
    const text = gunzipSync(
      readFileSync(join(import.meta.dirname, `../../../fixtures/openapi/${name}.json.gz`)),
    ).toString();
    const path = join(folder, `${name}.json`);
    writeFileSync(path, text);

    const { operations, problems } = findOperations(await readDocument(path));
    expect([operations.length, problems]).toEqual([count, []]);
    const listed = operations.map(
      (operation, index) => [operationKey(operation), { as: `tool_${index}` }] as const,
    );
    const entry = openApiEntry({ path, operations: Object.fromEntries(listed) });
    const read = await readOpenApiTools(entry, describeSource(entry, API));
    expect(read.problems).toEqual([]);
    expect(read.tools).toHaveLength(operations.length);

    const definition = JSON.parse(text, corrected) as Document;
    const examined = operations.filter((_, index) => index % EXAMINED === 0);
    const validator = await independentValidator(partOf(definition, examined));
    const faults: unknown[] = [];
    let requests = 0;
    for (const [index, tool] of read.tools.entries()) {
      if (index % EXAMINED !== 0) continue;
      for (const args of argumentsOf(tool, index)) {
        const request = await requestOf(tool, args);
        requests++;
        const errors = validator(request, args.body);
        if (request?.encoded !== undefined) {
          const read = await readForm(request.encoded);
          if (!isDeepStrictEqual(read, asTexts(args.body))) errors.push({ read, body: args.body });
        }
        if (errors.length > 0) faults.push({ operation: listed[index]?.[0], args, request, errors });
      }
    }
    expect(faults).toEqual([]);
    expect(requests).toBeGreaterThanOrEqual(examined.length);
  },
);

/**
 * Writes `nullable` without a type in another way, and removes values that an `enum` lists twice. The other
 * implementation rejects both. OpenAPI gives the first no meaning, but documents use it, and agentd allows null. Also
 * lets a value match several schemas of `oneOf`, as agentd does: documents call forms exclusive that are not.
 */
function corrected(key: string, value: unknown): unknown {
  if (key === 'enum' && Array.isArray(value)) return [...new Set(value)];
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray((value as { oneOf?: unknown }).oneOf) && !('anyOf' in value)) {
    const { oneOf, ...rest } = value as { oneOf: unknown[] };
    return corrected(key, { ...rest, anyOf: oneOf });
  }
  if (!('nullable' in value) || 'type' in value) return value;
  const { nullable, ...rest } = value;
  if (typeof nullable !== 'boolean') return value;
  return nullable ? { anyOf: [rest, { type: 'string', nullable, enum: [null] }] } : rest;
}

/** The document without the operations that are not tools: the other implementation compiles all operations. */
function partOf(definition: Document, operations: readonly FoundOperation[]): Document {
  const keys = new Set(operations.map(operationKey));
  const paths = Object.entries(definition.paths ?? {}).map(([path, item]) => {
    const kept = Object.entries(item ?? {}).filter(
      ([member]) => member === 'parameters' || keys.has(`${member.toUpperCase()} ${path}`),
    );
    return [path, Object.fromEntries(kept)];
  });
  const part = { ...definition, paths: Object.fromEntries(paths) };
  if (!JSON.stringify(part.paths).includes('"$ref"')) delete part.components;
  return part as Document;
}

/** At most two sets of arguments that the schema of the tool accepts. */
function argumentsOf(tool: Tool, index: number): ToolArguments[] {
  const generator = createGeneratorSync({
    seed: index,
    maxDepth: 4,
    refDepth: 2,
    optionalsProbability: 0.4,
  } as never);
  const found: ToolArguments[] = [];
  for (let attempt = 0; attempt < 20 && found.length < 2; attempt++) {
    const generated = generator.generate(tool.parameters as never) as Readonly<Record<string, unknown>>;
    // An empty text in a path is refused, and so is an empty list or object in a query, which other tests check.
    const filled = Object.entries(generated)
      .filter(([name, value]) => name === 'body' || !/null|\[\]|\{\}/.test(JSON.stringify(value)))
      .map(([name, value]) => [name, value === '' ? 'a' : value]);
    const checked = checkArguments(tool.parameters, Object.fromEntries(filled));
    if (checked.ok && !tool.unusable?.(checked.args)) found.push(checked.args);
  }
  return found;
}

async function requestOf(tool: Tool, args: ToolArguments): Promise<ToolRequest | null> {
  let request: ToolRequest | null = null;
  const client = {
    request: async (sent: ToolRequest) => {
      request = sent;
      return { outcome: 'answered', status: 200, body: null };
    },
  };
  await tool.send(args, { client, idempotency_key: null } as never);
  return request;
}

/** The fields of a form, as a server reads them. A text that is JSON is read, too, since both sides write objects so. */
async function readForm({ content, content_type }: EncodedBody): Promise<unknown> {
  const form = await new Response(content as never, { headers: { 'content-type': content_type } }).formData();
  const read: Record<string, unknown> = {};
  for (const [key, value] of form) {
    const path = [...key.matchAll(/^[^[]+|\[([^\]]*)\]/g)].map(([whole, inner]) => inner ?? whole);
    put(read, path, typeof value === 'string' ? value : { text: await value.text() });
  }
  return read;
}

function put(into: Record<string, unknown>, [key = '', next, ...rest]: string[], value: unknown): void {
  if (next === undefined) {
    into[key] = Object.hasOwn(into, key) ? [into[key], value].flat() : value;
    return;
  }
  into[key] ??= /^\d*$/.test(next) ? [] : {};
  const inner = into[key] as Record<string, unknown> & unknown[];
  if (next === '' && rest.length === 0) inner.push(value);
  else put(inner, [next, ...rest], value);
}

/** The value as a form contains it: only texts. */
function asTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asTexts);
  if (typeof value !== 'object' || value === null) return String(value);
  if (
    'text' in value &&
    Object.keys(value).every((name) => ['text', 'file_name', 'content_type'].includes(name))
  )
    return { text: value.text };
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asTexts(inner)]));
}

async function independentValidator(
  definition: Document,
): Promise<(request: ToolRequest | null, form: unknown) => unknown[]> {
  const api = new OpenAPIBackend({
    definition,
    quick: true,
    coerceTypes: true,
    ajvOpts: { strict: false, validateFormats: false, logger: false },
  });
  await api.init();
  return (request, form) => {
    if (request === null) return ['nothing was sent'];
    const { method, path, search = '', headers = {}, encoded } = request;
    const body = encoded === undefined ? request.body : form;
    const content_type = encoded?.content_type ?? request.content_type;
    const sent = {
      method,
      path,
      query: search,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': content_type ?? '' }) },
      body,
    };
    const operation = api.matchOperation(sent);
    if (operation === undefined) return ['no such operation'];
    const { valid, errors } = api.validateRequest(sent, operation);
    return valid ? [] : (errors ?? ['not valid']);
  };
}
