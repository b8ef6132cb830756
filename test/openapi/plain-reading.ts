import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isObject } from '../../src/channel/json-object.ts';
import type { DocumentNode, OpenApiDocument } from '../../src/daemon/tools/openapi/document.ts';

const URI = 'document:';

/**
 * Checks values against the schemas of a document with Ajv alone, and none of the code that makes tools: Ajv gets the
 * whole document and follows its references itself.
 */
export class PlainReading {
  readonly #ajv: Ajv2020;

  constructor({ version, root }: OpenApiDocument) {
    this.#ajv = new Ajv2020({
      strict: false,
      validateSchema: false,
      logger: false,
      inlineRefs: false,
    });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ $id: URI, ...(modern(root.value, version) as object) });
  }

  /** Why the value does not fit the schema; null if it fits. */
  fault(schema: DocumentNode, value: unknown): string | null {
    try {
      const validate = this.#ajv.compile({ $ref: `${URI}${encoded(schema.pointer)}` });
      return validate(value)
        ? null
        : this.#ajv.errorsText(validate.errors, { dataVar: 'value' }).slice(0, 300);
    } catch (error) {
      return `the schema cannot be compiled: ${String(error).slice(0, 200)}`;
    }
  }
}

function encoded(pointer: string): string {
  return `#${pointer.slice(1).split('/').map(encodeURIComponent).join('/')}`;
}

/** Members that contain data, in which Ajv would take `$id` for a keyword. */
const DATA = ['example', 'examples'];
/** Members whose own members have names that the API chooses. */
const NAMED = ['properties', 'patternProperties'];

/**
 * The document without its examples. In OpenAPI 3.0, exclusive bounds become numbers, `nullable` counts beside a type
 * only, and members beside a reference are left out.
 */
function modern(value: unknown, version: OpenApiDocument['version'], is_map = false): unknown {
  if (Array.isArray(value)) return value.map((item) => modern(item, version));
  if (!isObject(value)) return value;
  const schema: Record<string, unknown> = Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => is_map || !DATA.includes(name))
      .map(([name, member]) => [name, modern(member, version, !is_map && NAMED.includes(name))]),
  );
  if (version === '3.1' || is_map) return schema;
  if (typeof schema.$ref === 'string') return { $ref: schema.$ref };
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof schema[exclusive] !== 'boolean') continue;
    if (schema[exclusive]) {
      schema[exclusive] = schema[bound];
      delete schema[bound];
    } else delete schema[exclusive];
  }
  if (typeof schema.nullable === 'boolean' && schema.type === undefined) delete schema.nullable;
  return schema;
}
