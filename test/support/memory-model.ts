import type { CompletionRequest, FakeModel, ModelAnswer } from './fake-model.ts';

/**
 * Makes the model call the tool that the first word of a message names, as in `remember I like tea`, `recall tea` and
 * `forget tea`. The reply is the result of the tool, or says that the tool is not offered.
 */
export function callMemoryTools(model: FakeModel): void {
  model.script(answer);
}

function answer({ messages, tools = [] }: CompletionRequest): ModelAnswer {
  const last = messages.at(-1);
  if (last?.role === 'tool') return { text: [String(last.content)] };
  const [, name = '', words = ''] = /(remember|recall|forget) (.*)$/s.exec(String(last?.content)) ?? [];
  if (name === '') return { text: ['Hello.'] };
  if (!tools.some((tool) => tool.function.name === name)) return { text: [`There is no ${name}.`] };
  return { tools: [{ name, args: name === 'remember' ? { text: words } : { query: words } }] };
}

/** The system prompt of the last request. */
export function lastPrompt({ requests }: FakeModel): string {
  return String(requests.at(-1)?.messages.find(({ role }) => role === 'system')?.content);
}

/** Names of the tools that the last request offered. */
export function lastTools({ requests }: FakeModel): string[] {
  return (requests.at(-1)?.tools ?? []).map((tool) => tool.function.name);
}
