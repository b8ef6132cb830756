import type { ModelMessage } from 'ai';

/** The SDK's messages for calls that it could not make, each with its replacement. */
const SDK_WORDS: readonly [RegExp, (found: RegExpMatchArray) => string][] = [
  [
    /unavailable tool '([^']{0,64})/,
    ([, name = '']) => `There is no tool \`${name}\`. Call only the tools that are listed.`,
  ],
  [
    /InvalidToolInputError/,
    () => 'The arguments were not valid JSON, so nothing was called. Send one JSON object.',
  ],
];

/**
 * Replaces the SDK's messages for calls that it did not make: they name classes of the SDK and repeat what the model
 * sent.
 */
export function rewordRefusedCalls(messages: ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === 'tool'
      ? { ...message, content: message.content.map((part) => reworded(part)) }
      : message,
  );
}

type ToolPart = Extract<ModelMessage, { role: 'tool' }>['content'][number];

function reworded(part: ToolPart): ToolPart {
  if (part.type !== 'tool-result' || part.output.type !== 'error-text') return part;
  const { value } = part.output;
  for (const [pattern, words] of SDK_WORDS) {
    const found = value.match(pattern);
    if (found) return { ...part, output: { type: 'error-text', value: words(found) } };
  }
  return part;
}
