import type { ModuleEntry } from '../../tools/source-entry.ts';
import type { ConfigNode } from '../config-node.ts';

const MODULE_KEYS = ['module'];

/** Reads an entry with the key `module`; undefined if it has a problem. The module itself is not loaded. */
export function readModuleEntry(node: ConfigNode): ModuleEntry | undefined {
  node.onlyKeys(MODULE_KEYS);
  const module = node
    .child('module')
    .text('a path such as ./tools/refund.ts, or the name of an installed package');
  if (module === undefined) return undefined;
  return { kind: 'module', place: `${node.setting} (${node.source})`, module, folder: node.folder };
}
