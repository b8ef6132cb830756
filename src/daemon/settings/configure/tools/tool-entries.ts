import {
  type ConfirmPolicy,
  isConfirmLabel,
  RIGHT_CONFIRM_LABEL,
  readConfirmPolicy,
} from '../../../tools/confirmation/confirm-policy.ts';
import { isAllowedHeader } from '../../../tools/downstream/headers.ts';
import type { ParameterEntry, ToolEntry } from '../../../tools/source-entry.ts';
import { CREDENTIALS, EFFECTS, NAME_FORM, toolKeys } from '../../tools-schema.ts';
import { type ConfigNode, withoutAbsent } from '../config-node.ts';

const RIGHT_PUBLIC = 'all, or a list of top-level fields such as [name, price]';
const RIGHT_PARAMETERS =
  'path parameters and what their values may be, such as { file: { allow_slash: true } }';
const RIGHT_BIND = 'parameters and the claims that fill them, such as { customer: sub }';

/** Reads `operations` of an OpenAPI source or `tools` of an MCP source. @returns the settings of each tool, by key */
export function readToolEntries(node: ConfigNode, kind: 'openapi' | 'mcp'): Record<string, ToolEntry> {
  const example = kind === 'openapi' ? '{ listOrders: {} }' : '{ search: { effect: read } }';
  const right = `at least one, such as ${example}; only what is listed becomes a tool`;
  const members = node.members(right, 'is empty');
  // `fromEntries` makes even a name like `__proto__` an ordinary member.
  return Object.fromEntries(members.map(([key, tool]) => [key, readToolEntry(tool, kind)]));
}

function readToolEntry(node: ConfigNode, kind: 'openapi' | 'mcp'): ToolEntry {
  if (node.isAbsent) return {};
  const keys = toolKeys(kind);
  if (!node.isObject(`an object with any of ${keys.join(', ')}`)) return {};
  node.onlyKeys(keys);
  return withoutAbsent<ToolEntry>({
    as: node.optional('as', readToolName),
    effect: node.optional('effect', (child) => child.choice(EFFECTS)),
    credentials: node.optional('credentials', (child) => child.choice(CREDENTIALS)),
    confirm: node.optional('confirm', readConfirm),
    confirm_label: node.optional('confirm_label', readConfirmLabel),
    summary: node.optional('summary', (child) =>
      child.text('a sentence such as "Cancel order {id}", with parameters in braces'),
    ),
    public: node.optional('public', readPublic),
    bind: node.optional('bind', readBind),
    hide: node.optional('hide', (child) => readHide(child, node.child('bind'))),
    idempotency_header: node.optional('idempotency_header', readHeaderName),
    idempotent: node.optional('idempotent', (child) => child.boolean()),
    parameters: node.optional('parameters', readParameters),
  });
}

function readToolName(node: ConfigNode): string | undefined {
  const right = 'a name of 1 to 64 letters, digits, underscores and hyphens';
  return node.textThat((name) => NAME_FORM.test(name), 'is not a name that a model can call', right);
}

function readPublic(node: ConfigNode): readonly string[] | 'all' | undefined {
  if (node.value === 'all') return 'all';
  return node.items(RIGHT_PUBLIC).flatMap((item) => item.text('the name of a field') ?? []);
}

function readBind(node: ConfigNode): Record<string, string> {
  const bound = node.members(RIGHT_BIND).flatMap(([parameter, claim]) => {
    if (parameter.trim() === '' || /^body\.?$|\.$/.test(parameter)) {
      claim.refuse('is not the name of a parameter', 'a parameter, or body.field for a field of the body');
      return [];
    }
    const name = claim.text('the name of a top-level claim of the token, such as sub');
    return name === undefined ? [] : [[parameter, name] as const];
  });
  return Object.fromEntries(bound);
}

function readHide(node: ConfigNode, bind: ConfigNode): readonly string[] {
  const bound = bind.isAbsent ? [] : Object.keys((bind.value ?? {}) as object);
  const right = 'parameters that `bind` names, such as [customer]';
  return node.items(right).flatMap((item) => {
    const parameter = item.text(right);
    if (parameter === undefined || bound.includes(parameter)) return parameter ?? [];
    return item.refuseValue('is not a parameter that `bind` names, so the person must see it', right) ?? [];
  });
}

function readConfirm(node: ConfigNode): ConfirmPolicy | undefined {
  const read = readConfirmPolicy(node.value);
  if ('policy' in read) return read.policy;
  for (const { path, problem, right } of read.problems)
    path.reduce<ConfigNode>((at, step) => at.child(step), node).refuseValue(problem, right);
  return undefined;
}

function readConfirmLabel(node: ConfigNode): string | undefined {
  return node.textThat(isConfirmLabel, 'does not fit on a button', RIGHT_CONFIRM_LABEL);
}

function readHeaderName(node: ConfigNode): string | undefined {
  const right = 'the name of a header, such as Idempotency-Key';
  return node.textThat(isAllowedHeader, 'is not a header that a tool may set', right);
}

function readParameters(node: ConfigNode): Record<string, ParameterEntry> {
  const read = node.members(RIGHT_PARAMETERS).map(([name, parameter]) => {
    if (!parameter.isObject(RIGHT_PARAMETERS)) return [name, {}] as const;
    parameter.onlyKeys(['allow_slash']);
    const allow_slash = parameter.optional('allow_slash', (child) => child.boolean());
    return [name, withoutAbsent<ParameterEntry>({ allow_slash })] as const;
  });
  return Object.fromEntries(read);
}
