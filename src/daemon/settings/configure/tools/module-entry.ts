import type { ModuleEntry } from '../../../tools/source-entry.ts';
import type { ConfigNode } from '../config-node.ts';
import { readCredential } from './read-credential.ts';

const MODULE_KEYS = ['module', 'credential'];

/** Reads an entry with the key `module`; undefined if it has a problem. The module itself is not loaded. */
export function readModuleEntry(node: ConfigNode): ModuleEntry | undefined {
  node.onlyKeys(MODULE_KEYS);
  const module = node
    .child('module')
    .text('a path such as ./tools/refund.ts, or the name of an installed package');
  const credential = readCredential(node.child('credential'));
  if (module === undefined) return undefined;
  const place = `${node.setting} (${node.source})`;
  return { kind: 'module', place, module, folder: node.folder, ...(credential && { credential }) };
}
