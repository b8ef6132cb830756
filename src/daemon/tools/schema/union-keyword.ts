import type { CodeKeywordDefinition, KeywordCxt } from 'ajv';
import { isObject } from '../../../channel/json-object.ts';
import type { JsonSchema } from '../tool.ts';
import { isScalar, listParts, SchemaReferences } from './schema-parts.ts';

/** What the error of a union says about the values that its tag may have. */
export interface TagError {
  /** The property that names the form. */
  readonly tag: string;
  readonly allowed: readonly unknown[];
}

/** What the error of a union says about its forms. Directly before it are the errors of the forms, in their order. */
export interface FormsError {
  /** The number of errors of each form. */
  readonly sizes: readonly number[];
  readonly names: readonly string[];
}

type CodeGeneration = Pick<typeof import('ajv'), '_' | 'Name' | 'stringify'>;

/**
 * The keywords `oneOf` and `anyOf` for Ajv. If a property names the form of an object, only that form is
 * checked: its errors are the ones to correct, and recursive forms do not multiply. Otherwise the value must fit at
 * least one form, for `oneOf` too: documents call forms exclusive that are not, and the API decides anyway.
 */
export function unionKeyword(
  keyword: 'anyOf' | 'oneOf',
  { _, Name, stringify }: CodeGeneration,
): CodeKeywordDefinition {
  /** The counter of errors in the code of Ajv. */
  const errors = new Name('errors');

  function checkEach(cxt: KeywordCxt, valid: InstanceType<typeof Name>, forms: readonly unknown[]): void {
    const { gen, it } = cxt;
    const { root } = it.schemaEnv;
    const isTracked = it.opts.unevaluated === true && usesUnevaluated(root.schema);
    const sizes = gen.let('sizes', _`[]`);
    gen.block(() => {
      for (const index of forms.keys()) {
        const fits = gen.name('_valid');
        const before = gen.const('before', errors);
        const form = cxt.subschema({ keyword, schemaProp: index, compositeRule: true }, fits);
        gen.code(_`${sizes}.push(${errors} - ${before})`);
        gen.assign(valid, _`${valid} || ${fits}`);
        // Unevaluated properties depend on all forms that fit. Otherwise the first one is enough.
        const isMerged = isTracked && cxt.mergeValidEvaluated(form, fits);
        if (isMerged !== true) gen.if(_`!${valid}`);
      }
    });
    gen.if(_`!${valid}`);
    const names = forms.map(nameForm);
    cxt.setParams({ sizes, names: gen.scopeValue('obj', { ref: names, code: stringify(names) }) });
    cxt.error(true);
    gen.else();
    cxt.reset();
    gen.endIf();
  }

  function checkTagged(cxt: KeywordCxt, valid: InstanceType<typeof Name>, { tag, forms }: UnionTag): void {
    const { gen, data, it } = cxt;
    const value = gen.const('tag', _`${data}[${tag}]`);
    let isFirst = true;
    for (const [index, values] of forms) {
      const isNamed = values
        .map((one) => _`${value} === ${one as string}`)
        .reduce((either, one) => _`${either} || ${one}`);
      if (isFirst) gen.if(isNamed);
      else gen.elseIf(isNamed);
      isFirst = false;
      const fits = gen.name('_valid');
      const form = cxt.subschema({ keyword, schemaProp: index }, fits);
      if (it.opts.unevaluated) cxt.mergeEvaluated(form, Name);
      gen.assign(valid, fits);
    }
    gen.else();
    const allowed = [...forms.values()].flat();
    cxt.setParams({ tag, allowed: gen.scopeValue('obj', { ref: allowed, code: stringify(allowed) }) });
    cxt.error();
    gen.endIf();
  }

  return {
    keyword,
    schemaType: 'array',
    trackErrors: true,
    error: {
      message: 'fits none of the forms',
      params: ({ params: { tag, allowed, sizes, names } }) =>
        tag === undefined ? _`{sizes: ${sizes}, names: ${names}}` : _`{tag: ${tag}, allowed: ${allowed}}`,
    },
    code(cxt) {
      const { gen, data, it } = cxt;
      const forms = cxt.schema as readonly unknown[];
      const { schema: root } = it.schemaEnv.root;
      const tag = isObject(root) ? findTag(forms, root) : null;
      const valid = gen.let('valid', false);
      if (tag === null) checkEach(cxt, valid, forms);
      else
        gen.if(
          _`${data} && typeof ${data} == "object" && !Array.isArray(${data}) && Object.hasOwn(${data}, ${tag.tag})`,
          () => checkTagged(cxt, valid, tag),
          () => checkEach(cxt, valid, forms),
        );
      cxt.ok(valid);
    },
  };
}

const tracked = new WeakMap<JsonSchema, boolean>();

function usesUnevaluated(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const known = tracked.get(schema);
  if (known !== undefined) return known;
  const uses =
    Object.hasOwn(schema, 'unevaluatedProperties') ||
    Object.hasOwn(schema, 'unevaluatedItems') ||
    listParts(schema).some((part) => usesUnevaluated(part.schema));
  tracked.set(schema, uses);
  return uses;
}

/** The name of a form in messages for a model. */
function nameForm(form: unknown, index: number): string {
  const { title, $ref, required } = isObject(form) ? form : {};
  if (typeof title === 'string' && title.trim() !== '') return title.slice(0, 64);
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1).slice(0, 64);
  const needs = Array.isArray(required) ? required.slice(0, 2).map((name) => String(name).slice(0, 32)) : [];
  return needs.length === 0 ? `form ${index + 1}` : `form ${index + 1} (${needs.join(', ')})`;
}

/** The property that says which form of a union an object has. */
interface UnionTag {
  readonly tag: string;
  /** The values of the property for each form that an object can have, by the index of the form. */
  readonly forms: ReadonlyMap<number, readonly unknown[]>;
}

/** What is known about the values that fit a schema. */
interface Facts {
  /** Whether an object can fit. */
  readonly objects: boolean;
  /** The properties that have one of a few values if they are given. */
  readonly tags: ReadonlyMap<string, readonly unknown[]>;
  readonly required: ReadonlySet<string>;
}

const ANYTHING: Facts = { objects: true, tags: new Map(), required: new Set() };
const MAX_DEPTH = 16;

/**
 * Finds the property whose value names the form of an object: in every form that an object can have, the property has a
 * constant or one of a few values, and no value belongs to two forms. Null if there is none.
 */
function findTag(forms: readonly unknown[], root: JsonSchema): UnionTag | null {
  const references = new SchemaReferences(root);
  const facts = forms.map((form) => collectFacts(form, references, 0));
  const objects = [...facts.entries()].filter(([, form]) => form.objects);
  const [first] = objects;
  if (first === undefined || objects.length < 2) return null;
  const candidates = [...first[1].tags.keys()].filter((name) => {
    const values = objects.map(([, form]) => form.tags.get(name) ?? []);
    return values.every((some) => some.length > 0) && new Set(values.flat()).size === values.flat().length;
  });
  const isAlwaysRequired = (name: string) => objects.every(([, form]) => form.required.has(name));
  const tag = candidates.find(isAlwaysRequired) ?? candidates[0];
  if (tag === undefined) return null;
  return { tag, forms: new Map(objects.map(([index, form]) => [index, form.tags.get(tag) ?? []])) };
}

function collectFacts(schema: unknown, references: SchemaReferences, depth: number): Facts {
  if (schema === false) return { ...ANYTHING, objects: false };
  if (!isObject(schema) || depth > MAX_DEPTH) return ANYTHING;
  const { properties, required, allOf, anyOf, oneOf } = schema;
  const tags = new Map<string, readonly unknown[]>();
  for (const [name, property] of isObject(properties) ? Object.entries(properties) : []) {
    const values = findValues(property, references, depth);
    if (values !== null) tags.set(name, values);
  }
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const own = { objects: allowsObjects(schema), tags, required: new Set(names) };
  const also = [...references.of(schema), ...(Array.isArray(allOf) ? allOf : [])];
  const unions = [anyOf, oneOf].filter((list) => Array.isArray(list) && list.length > 0) as unknown[][];
  return [
    ...also.map((one) => collectFacts(one, references, depth + 1)),
    ...unions.map((list) => either(list.map((one) => collectFacts(one, references, depth + 1)))),
  ].reduce(both, own);
}

function both(one: Facts, other: Facts): Facts {
  const tags = new Map(one.tags);
  for (const [name, values] of other.tags) {
    const known = tags.get(name);
    tags.set(name, known === undefined ? values : values.filter((value) => known.includes(value)));
  }
  return {
    objects: one.objects && other.objects,
    tags,
    required: new Set([...one.required, ...other.required]),
  };
}

function either(all: readonly Facts[]): Facts {
  const forms = all.filter(({ objects }) => objects);
  const [first] = forms;
  if (first === undefined) return { ...ANYTHING, objects: false };
  const names = [...first.tags.keys()].filter((name) => forms.every(({ tags }) => tags.has(name)));
  return {
    objects: true,
    tags: new Map(
      names.map((name) => [name, [...new Set(forms.flatMap(({ tags }) => tags.get(name) ?? []))]]),
    ),
    required: new Set(
      [...first.required].filter((name) => forms.every(({ required }) => required.has(name))),
    ),
  };
}

function allowsObjects({ type, enum: values, const: value }: JsonSchema): boolean {
  if (type !== undefined && ![type].flat().includes('object')) return false;
  const allowed = value !== undefined ? [value] : Array.isArray(values) ? values : null;
  return allowed === null || allowed.some((one) => typeof one === 'object' && one !== null);
}

/** The few values that a property can have; null if it can have others. */
function findValues(schema: unknown, references: SchemaReferences, depth: number): readonly unknown[] | null {
  if (!isObject(schema) || depth > MAX_DEPTH) return null;
  const { const: value, enum: values, allOf } = schema;
  const own = value !== undefined ? [value] : Array.isArray(values) ? values : null;
  if (own !== null) return own.every(isScalar) ? own : null;
  const also = [...references.of(schema), ...(Array.isArray(allOf) ? allOf : [])];
  for (const one of also) {
    const found = findValues(one, references, depth + 1);
    if (found !== null) return found;
  }
  return null;
}
