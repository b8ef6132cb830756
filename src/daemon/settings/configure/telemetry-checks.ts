import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  COMPRESSIONS,
  exportsTraces,
  PROTOCOLS,
  parsePairs,
  SAMPLERS,
} from '../../telemetry/telemetry-options.ts';
import { isHeader } from '../../tools/downstream/headers.ts';
import { isLoopback } from '../addresses.ts';
import type { Examination } from '../check.ts';
import type { Settings } from '../settings.ts';

const CHOICES = [
  ['OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOLS],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', PROTOCOLS],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', COMPRESSIONS],
  ['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION', COMPRESSIONS],
  ['OTEL_TRACES_SAMPLER', SAMPLERS],
] as const;

const FILES = [
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_KEY',
  'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY',
] as const;

const HEADERS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'] as const;

/**
 * Checks the settings of agentd-telemetry(7). They are checked only if traces are exported, since other programs read
 * the same variables.
 */
export function checkTelemetrySettings(look: Examination): void {
  const exports = exportsTraces({
    OTEL_EXPORTER_OTLP_ENDPOINT: look.value('OTEL_EXPORTER_OTLP_ENDPOINT'),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: look.value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'),
    OTEL_TRACES_EXPORTER: look.value('OTEL_TRACES_EXPORTER') ?? 'otlp',
    OTEL_SDK_DISABLED: look.value('OTEL_SDK_DISABLED') ?? false,
  });
  if (!exports) return;
  for (const [name, choices] of CHOICES) {
    const value = look.value(name);
    if (value !== undefined && !(choices as readonly string[]).includes(value))
      look.refuse(name, 'is not one of the known values', `one of ${choices.join(', ')}`);
  }
  const exporter = look.value('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (exporter !== 'otlp')
    look.refuse('OTEL_TRACES_EXPORTER', 'is not one of the known values', 'otlp or none');
  checkPairs(look, 'OTEL_RESOURCE_ATTRIBUTES', look.value('OTEL_RESOURCE_ATTRIBUTES'));
  for (const name of HEADERS) checkPairs(look, name, look.value(name)?.reveal(), isHeader);
  warnOfPlainHeaders(look);
  for (const name of FILES) {
    const path = look.value(name);
    if (path !== undefined && !existsSync(resolve(look.cwd, path)))
      look.refuse(name, 'is not the path of a file', 'the path of a PEM file');
  }
  if (look.value('OTEL_GENAI_CAPTURE_CONTENT') === true)
    look.warn('OTEL_GENAI_CAPTURE_CONTENT: traces contain the texts of people and the results of tools');
}

function checkPairs(
  look: Examination,
  name: keyof Settings,
  text: string | undefined,
  isRight: (name: string, value: string) => boolean = () => true,
): void {
  if (text === undefined) return;
  const pairs = parsePairs(text);
  if (pairs === null || !pairs.every((pair) => isRight(...pair)))
    look.refuse(
      name,
      'does not have the right form',
      'name=value pairs separated by commas; values may be percent-encoded',
    );
}

/** Warns about headers that are sent unencrypted, because they often contain a key. */
function warnOfPlainHeaders(look: Examination): void {
  const header = HEADERS.find((name) => look.isGiven(name));
  const endpoint =
    look.value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? look.value('OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = endpoint === undefined ? null : URL.parse(endpoint);
  if (look.guarded && header !== undefined && url?.protocol === 'http:' && !isLoopback(url))
    look.warn(`${header}: the headers are sent to ${url.hostname} unencrypted`);
}
