import type { ConfigNode } from '../config-node.ts';
import type { SourceSecrets } from './source-secrets.ts';

const REFERENCE = /\$\{([^}]*)\}/g;

/** The secrets that one entry may use. */
export interface EntrySecrets {
  /** The names under `secrets` of the entry. */
  listed: readonly string[];
  values: SourceSecrets;
}

/**
 * The text of a node with each `${SETTING}` replaced by the secret of that name. Reports names that the entry does not
 * list. Problems never show the text, which may contain a secret.
 */
export function fillSecrets(
  node: ConfigNode,
  right: string,
  { listed, values }: EntrySecrets,
): string | undefined {
  const text = node.text(right);
  if (text === undefined) return undefined;
  const names = [...text.matchAll(REFERENCE)].map(([, name = '']) => name);
  const unlisted = names.filter((name) => !listed.includes(name));
  for (const name of new Set(unlisted)) {
    node.refuse(`refers to \${${name}}, which the entry does not list`, `secrets: [${name}] in the entry`);
  }
  if (unlisted.length > 0) return undefined;
  if (text.replace(REFERENCE, '').includes(`\${`)) return node.refuse(`has a \`\${\` without a \`}\``, right);
  // A missing value is reported once, under the name of the secret.
  if (names.some((name) => !values.get(name))) return undefined;
  return text.replace(REFERENCE, (_reference, name: string) => values.get(name)?.reveal() ?? '');
}
