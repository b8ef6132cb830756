import type { CodeKeywordDefinition, KeywordCxt } from 'ajv';
import { isObject } from '../../channel/json-object.ts';
import { findTag, type UnionTag } from './find-tag.ts';
import { partsOf } from './schema-parts.ts';
import type { JsonSchema } from './tool.ts';

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
 * The keywords `oneOf` and `anyOf` for Ajv. If a property names the form of an object (find-tag.ts), only that form is
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
    const names = forms.map(nameOf);
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
    partsOf(schema).some((part) => usesUnevaluated(part.schema));
  tracked.set(schema, uses);
  return uses;
}

/** The name of a form in messages for a model. */
function nameOf(form: unknown, index: number): string {
  const { title, $ref, required } = isObject(form) ? form : {};
  if (typeof title === 'string' && title.trim() !== '') return title.slice(0, 64);
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1).slice(0, 64);
  const needs = Array.isArray(required) ? required.slice(0, 2).map((name) => String(name).slice(0, 32)) : [];
  return needs.length === 0 ? `form ${index + 1}` : `form ${index + 1} (${needs.join(', ')})`;
}
