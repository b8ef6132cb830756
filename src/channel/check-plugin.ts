import { describeValue, isAbsentOr, isFunction, type Refusal, type Row, unfit, unfitting } from './fit.ts';
import type { ChannelPlugin } from './index.ts';
import { isObject } from './json-object.ts';
import { fileSetting } from './setting.ts';

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const NAME_MAX = 32;
const SETTING_NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/;
const TEXT_NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;
const DELIVERIES = ['response', 'stream', 'push'];
const MARKDOWN = ['commonmark', 'platform', 'none'];
const SETTING_KINDS = ['string', 'integer', 'number', 'boolean', 'choice', 'list', 'url'];

/** The form of a name, in words. */
export const NAME_RULE = `at most ${NAME_MAX} lower-case letters, digits and single hyphens, beginning with a letter and not ending with a hyphen`;

/** Longest title, characters. */
const TITLE_MAX = 32;

function isTitle(title: unknown): boolean {
  return typeof title === 'string' && /^[^\p{C}]*\S[^\p{C}]*$/u.test(title) && title.length <= TITLE_MAX;
}

/** Whether a channel may have this name. Whether the name is taken is not checked here. */
export function isChannelName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name) && name.length <= NAME_MAX;
}

/** `agentd link list` and `agentd link remove` are commands, so no channel can have one of these words after `link`. */
export const LINK_COMMANDS: readonly string[] = ['list', 'remove'];

/**
 * Checks that a plugin has the shape of the contract (src/channel/channel.ts). Reports the problems of all
 * members at once, each with the member, the expected value and the actual value. If the name is wrong, reports only
 * that. Runs no code of the plugin.
 */
export function checkPlugin(plugin: Readonly<Record<string, unknown>>): Refusal[] {
  const {
    name,
    title,
    summary,
    settings,
    detect,
    delivery,
    capabilities,
    create,
    linking,
    simulator,
    setup,
    texts,
    eventStream,
  } = plugin as Partial<Record<keyof ChannelPlugin, unknown>>;
  if (!isChannelName(name)) return [unfit('`name`', NAME_RULE, name)];
  return [
    ...unfitting([
      [isAbsentOr(isTitle, title), '`title`', `a text of at most ${TITLE_MAX} characters, or absent`, title],
      [isText(summary), '`summary`', 'one sentence', summary],
      [isFunction(detect), '`detect`', 'a function', detect],
      [isFunction(create), '`create`', 'a function', create],
      [isOneOf(DELIVERIES, delivery), '`delivery`', "'response', 'stream' or 'push'", delivery],
    ]),
    ...checkCapabilities(delivery, capabilities),
    ...checkLinking(name, linking, texts),
    ...checkSetup(setup),
    ...checkTexts(name, texts),
    ...checkEventStream(eventStream),
    ...unfitting([[isAbsentOr(isFunction, simulator), '`simulator`', 'a function, or absent', simulator]]),
    ...(Array.isArray(settings)
      ? checkSettings(name, settings)
      : [unfit('`settings`', 'a list of setting records', settings)]),
  ];
}

function checkCapabilities(delivery: unknown, capabilities: unknown): Refusal[] {
  if (!isObject(capabilities)) return [unfit('`capabilities`', 'an object', capabilities)];
  const { namespace, textLimit, markdown, typing, groups, webhook } = capabilities;
  const isPush = delivery === 'push';
  const isName = (value: unknown) => typeof value === 'string' && NAME.test(value);
  const rows: readonly Row[] = [
    [isAbsentOr(isName, namespace), 'namespace', 'a name, or absent', namespace],
    [namespace === undefined || !isPush, 'namespace', "absent with `delivery: 'push'`", namespace],
    [textLimit === null || isPositive(textLimit), 'textLimit', 'a number above 0, or null', textLimit],
    [isOneOf(MARKDOWN, markdown), 'markdown', "'commonmark', 'platform' or 'none'", markdown],
    [isBoolean(typing), 'typing', 'true or false', typing],
    [isAbsentOr(isBoolean, webhook), 'webhook', 'true or false, or absent', webhook],
    [webhook !== false || isPush, 'webhook', "true, unless `delivery` is 'push'", webhook],
    [isAbsentOr(isBoolean, groups), 'groups', 'true or false, or absent', groups],
  ];
  return unfitting(rows.map(([fits, member, ...rest]) => [fits, `\`capabilities.${member}\``, ...rest]));
}

function checkLinking(name: string, linking: unknown, texts: unknown): Refusal[] {
  if (linking === undefined) return [];
  if (!isObject(linking)) return [unfit('`linking`', 'an object, or absent', linking)];
  const { word = name, argument, form, idsOf, how, comparePhone } = linking;
  const isWord = typeof word === 'string' && NAME.test(word) && !LINK_COMMANDS.includes(word);
  const isListed = (text: unknown) => Array.isArray(texts) && texts.includes(text);
  return unfitting([
    [isWord, '`linking.word`', `a name other than ${LINK_COMMANDS.join(' and ')}`, word],
    [isText(argument), '`linking.argument`', 'a word', argument],
    [isAbsentOr(isText, form), '`linking.form`', 'a text, or absent', form],
    [isFunction(idsOf), '`linking.idsOf`', 'a function', idsOf],
    [isAbsentOr(isListed, how), '`linking.how`', 'one of `texts`, or absent', how],
    [isAbsentOr(isFunction, comparePhone), '`linking.comparePhone`', 'a function, or absent', comparePhone],
  ]);
}

function checkSetup(setup: unknown): Refusal[] {
  if (setup === undefined) return [];
  if (!isObject(setup)) return [unfit('`setup`', 'an object, or absent', setup)];
  const { settings, run } = setup;
  const isList = Array.isArray(settings) && settings.every(isText);
  return unfitting([
    [isList, '`setup.settings`', 'a list of names of settings', settings],
    [isFunction(run), '`setup.run`', 'a function', run],
  ]);
}

function checkTexts(channel: string, texts: unknown): Refusal[] {
  if (texts === undefined) return [];
  if (!Array.isArray(texts)) return [unfit('`texts`', 'a list of texts, or absent', texts)];
  const prefix = settingPrefix(channel).toLowerCase();
  const names = new Set<unknown>();
  return texts.flatMap((text, index) => {
    if (!isObject(text)) return [unfit(`\`texts[${index}]\``, 'a text', text)];
    const { name, sentence, default: english } = text;
    if (typeof name !== 'string' || !TEXT_NAME.test(name) || !name.startsWith(prefix))
      return [unfit('the name of a text', `lower snake case that begins with ${prefix}`, name)];
    if (!isText(sentence)) return [unfit(`\`sentence\` of ${name}`, 'one sentence', sentence)];
    if (!isText(english)) return [unfit(`\`default\` of ${name}`, 'the English text', english)];
    if (names.has(name)) return [twice('texts', name)];
    names.add(name);
    return [];
  });
}

function checkEventStream(paths: unknown): Refusal[] {
  if (paths === undefined) return [];
  if (!isObject(paths)) return [unfit('`eventStream`', 'an object, or absent', paths)];
  const { start, stream } = paths;
  const hasId = typeof stream === 'string' && stream.includes(':stream_id');
  return unfitting([
    [isText(start), '`eventStream.start`', 'a path', start],
    [hasId, '`eventStream.stream`', 'a path that contains :stream_id', stream],
  ]);
}

function checkSettings(channel: string, records: readonly unknown[]): Refusal[] {
  const names = new Set<unknown>();
  const fileNames = records.flatMap((record) =>
    isObject(record) && record.secret === true ? [fileSetting(String(record.name))] : [],
  );
  return records.flatMap((record, index) => {
    if (!isObject(record)) return [unfit(`\`settings[${index}]\``, 'a setting record', record)];
    const refusal =
      checkSetting(channel, record) ??
      (names.has(record.name) ? twice('settings', record.name) : null) ??
      (fileNames.includes(String(record.name)) ? fileOfSecret(String(record.name)) : null);
    names.add(record.name);
    return refusal === null ? [] : [refusal];
  });
}

function checkSetting(channel: string, record: Readonly<Record<string, unknown>>): Refusal | null {
  const { name, kind, sentence } = record;
  const prefix = settingPrefix(channel);
  if (typeof name !== 'string' || !SETTING_NAME.test(name) || !name.startsWith(prefix)) {
    return unfit('the name of a setting', `upper snake case that begins with ${prefix}`, name);
  }
  if (typeof kind !== 'string' || !SETTING_KINDS.includes(kind)) {
    return unfit(`\`kind\` of ${name}`, `one of ${SETTING_KINDS.join(', ')}`, kind);
  }
  if (!isText(sentence)) return unfit(`\`sentence\` of ${name}`, 'one sentence', sentence);
  return checkBounds(name, kind, record);
}

function checkBounds(
  name: string,
  kind: string,
  { min, max, choices, pattern }: Readonly<Record<string, unknown>>,
): Refusal | null {
  const [isKind, words] =
    kind === 'integer' ? [Number.isInteger, 'whole numbers'] : [Number.isFinite, 'numbers'];
  const isRange = isKind(min) && isKind(max) && Number(min) <= Number(max);
  if ((kind === 'integer' || kind === 'number') && !isRange)
    return unfit(
      `the range of ${name}`,
      `\`min\` and \`max\`, ${words}, \`min\` not above \`max\``,
      `${describeValue(min)} to ${describeValue(max)}`,
    );
  if (kind === 'choice' && !(Array.isArray(choices) && choices.length > 0 && choices.every(isText))) {
    return unfit(`\`choices\` of ${name}`, 'a list of texts', choices);
  }
  if (pattern !== undefined && !(pattern instanceof RegExp)) {
    return unfit(`\`pattern\` of ${name}`, 'a regular expression', pattern);
  }
  return null;
}

function twice(what: string, name: unknown): Refusal {
  return { problem: `has two ${what} with the name ${String(name)}`, right: 'each name once' };
}

function fileOfSecret(name: string): Refusal {
  return {
    problem: `has a setting with the name ${name}, which names the file of the secret ${name.replace(/_FILE$/, '')}`,
    right: 'another name; the daemon reads secrets from files for every channel',
  };
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isOneOf(words: readonly string[], value: unknown): boolean {
  return words.some((word) => word === value);
}
/** The prefix of the settings of a channel: its name in upper snake case, and an underscore. */
export function settingPrefix(channel: string): string {
  return `${channel.toUpperCase().replaceAll('-', '_')}_`;
}
