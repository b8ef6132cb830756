import { cutText } from '../../texts/printable.ts';
import { type OpenApiEntry, readPolicy, type ToolEntry } from '../source-entry.ts';
import {
  type Effect,
  type JsonSchema,
  refuseToSend,
  type Sent,
  type Tool,
  type ToolArguments,
  type ToolCall,
  type ToolSourceInfo,
} from '../tool.ts';
import { toolName } from '../tool-names.ts';
import { buildRequest } from './build-request.ts';
import { type FoundOperation, operationKey } from './find-operation.ts';
import type { Operation } from './read-operation.ts';

/** Maximum length of a tool's description that all model servers accept, in characters. */
const MAX_DESCRIPTION = 1_024;

/** The tool of one operation that an entry lists. */
export function createOpenApiTool(
  entry: OpenApiEntry,
  options: ToolEntry,
  operation: Operation,
  { info, parameters }: { info: ToolSourceInfo; parameters: JsonSchema },
): Tool {
  const { found } = operation;
  const effect = options.effect ?? chooseEffect(found);
  const header = options.idempotency_header ?? null;
  const title = found.node.text('summary');
  return {
    name: chooseName(entry, options, found),
    title,
    description: describe(found, title),
    parameters,
    source: info,
    ...readPolicy(entry, options, effect, info.target?.is_api === true),
    unusable(args) {
      const built = buildRequest(operation, args);
      return built.ok ? null : built.message;
    },
    send: (args, call) => send(operation, header, args, call),
  };
}

function chooseName(entry: OpenApiEntry, options: ToolEntry, found: FoundOperation): string {
  return toolName(entry.name, found.operation_id ?? operationKey(found), options.as);
}

/** The effect of an operation whose entry does not say it. */
function chooseEffect({ method }: FoundOperation): Effect {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}

function describe(found: FoundOperation, title: string | null): string {
  const description = found.node.text('description');
  const texts = [...new Set([title, description])].filter((text) => text !== null);
  const text = texts.length > 0 ? texts.join('\n\n') : operationKey(found);
  return text.length > MAX_DESCRIPTION ? cutText(text, MAX_DESCRIPTION - 1) : text;
}

async function send(
  operation: Operation,
  idempotency_header: string | null,
  args: ToolArguments,
  { client, idempotency_key }: ToolCall,
): Promise<Sent> {
  const built = buildRequest(operation, args);
  if (!built.ok) return refuseToSend('invalid_arguments', built.message);
  const { request } = built;
  const key =
    idempotency_header !== null && idempotency_key !== null ? { [idempotency_header]: idempotency_key } : {};
  const response = await client.request({ ...request, headers: { ...request.headers, ...key } });
  if (response.outcome !== 'answered') return response;
  const { status, body, headers } = response;
  return { outcome: 'answered', status, result: body, ...(headers === undefined ? {} : { headers }) };
}
