import { RESERVED_CHANNEL_NAMES } from '../../../../plugins/names.ts';
import { settingPrefix } from '../../../channel/check-plugin.ts';
import { nearest } from '../nearest.ts';
import type { SettingProblem } from '../problem.ts';
import { findGiven, isBlank, type Layer, type Sources } from '../sources.ts';
import { readValue } from '../value.ts';

/**
 * Minimum length of a setting's name, in characters, for a similar name to count as a misspelling of it. Shorter names
 * are too similar to names of other programs.
 */
const SHORTEST_GUESS = 6;
/**
 * Minimum length of a setting's name, in characters, for a name with two typing errors to count as a misspelling of it.
 * For a shorter name, only one error is allowed: APP_HOME is not a misspelled APP_NAME.
 */
const LONG_NAME = 12;

/**
 * Standard settings of OpenTelemetry for log records. Their names resemble the settings for spans (OTEL_BSP_*), which
 * agentd has.
 */
const FOREIGN = /^OTEL_BLRP_/;

/** Settings of Node.js itself, such as NODE_EXTRA_CA_CERTS. It reads them before the daemon reads any file. */
const OF_NODE = /^NODE_/;

interface UnknownNames {
  problems: SettingProblem[];
  warnings: string[];
}

/**
 * Unknown names of settings. In the configuration file each of them is a problem. The environment and `.env` also
 * contain names of other programs: there, an unknown name is a problem only if it looks like a misspelling of a setting
 * that is not set.
 *
 * @param known names of all records.
 * @param channels names of all available channels
 * @param complete false if a plugin could not be loaded: unknown names in the file may be settings of that plugin.
 */
export function findUnknownNames(
  sources: Sources,
  { known, channels, complete }: { known: readonly string[]; channels: readonly string[]; complete: boolean },
): UnknownNames {
  const found: UnknownNames = { problems: [], warnings: [] };
  const missing = RESERVED_CHANNEL_NAMES.filter((name) => !channels.includes(name));
  for (const layer of sources.layers) {
    if (layer.kind === 'defaults') continue;
    for (const [name, value] of layer.values) {
      if (known.includes(name) || isBlank(value)) continue;
      const channel = missing.find((candidate) => name.startsWith(settingPrefix(candidate)));
      if (channel !== undefined) {
        ofMissingChannel(name, value, layer, channel, channels, found);
      } else if (layer.kind === 'file') {
        if (complete || likely(name, known, sources)) found.problems.push(inFile(name, layer, known));
      } else if (layer.kind === 'env-file' && OF_NODE.test(name) && name !== 'NODE_ENV') {
        // A service manager may have put the same file into the environment.
        if (sources.layers.some(({ kind, values }) => kind === 'environment' && values.has(name))) continue;
        found.warnings.push(
          `${name} (${layer.source}) has no effect: Node.js reads it from the environment of the process only`,
        );
      } else {
        const meant = FOREIGN.test(name) ? undefined : likely(name, known, sources);
        if (meant !== undefined) {
          found.problems.push(
            stranger(
              name,
              layer,
              `is not a setting, but looks like ${meant}`,
              `${meant}; or remove the name from ${layer.kind === 'environment' ? 'the environment' : layer.source}`,
            ),
          );
        }
      }
    }
  }
  return found;
}

/**
 * Settings of a documented channel that this version does not have: turning the channel on is a problem, and its other
 * settings have no effect.
 */
function ofMissingChannel(
  name: string,
  value: unknown,
  layer: Layer,
  channel: string,
  channels: readonly string[],
  { problems, warnings }: UnknownNames,
): void {
  if (name !== `${settingPrefix(channel)}ENABLED`) {
    warnings.push(
      `${name} (${layer.source}) has no effect: this version does not have the channel ${channel}`,
    );
    return;
  }
  const reading = readValue({ name, kind: 'boolean', sentence: '' }, value);
  if (reading.ok && reading.value === false) return;
  problems.push({
    ...stranger(
      name,
      layer,
      `turns on a channel that this version does not have`,
      `one of ${channels.join(', ')}`,
    ),
    value: String(value),
  });
}

function inFile(name: string, layer: Layer, known: readonly string[]): SettingProblem {
  if (OF_NODE.test(name)) {
    return stranger(name, layer, 'is not a setting of the file', `${name} in the environment`);
  }
  // Also matches names in lower case or camel case.
  const upper = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase();
  const meant = nearest(upper, known, Math.max(2, Math.floor(name.length / 3)))?.name;
  const right = meant === undefined ? 'a name that `agentd config reference` lists' : `${meant}, perhaps`;
  return stranger(name, layer, 'is not a setting', right);
}

/** The setting that a name in an environment most likely means. */
function likely(name: string, known: readonly string[], sources: Sources): string | undefined {
  const near = nearest(name, known, 2);
  if (near === undefined || near.name.length < SHORTEST_GUESS) return undefined;
  if (near.distance > 1 && near.name.length < LONG_NAME) return undefined;
  return findGiven(sources, near.name) === undefined ? near.name : undefined;
}

/** The value of an unknown name is not shown, since it may be a misspelled secret. */
function stranger(setting: string, { source }: Layer, problem: string, right: string): SettingProblem {
  return { setting, value: null, source, problem, right };
}
