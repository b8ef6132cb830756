import { ERRORS, type ErrorCode } from '../../daemon/admin/records.ts';
import { type Advice, type AdviceTable, IDENTITY_ADVICE, MESSAGE_ADVICE } from './advice-table.ts';
import { AGENT_ADVICE, TOOL_ADVICE } from './tool-advice.ts';

/** Name of the business API in traces. Its address is API_BASE_URL. */
const BUSINESS_API = 'api';

/**
 * Advice by reason or error code, as in traces and logs. `agentd explain` shows the advice if it has a `todo`.
 * Otherwise the reason appears only in the timeline of `agentd explain`.
 */
export const ADVICE: AdviceTable = {
  ...IDENTITY_ADVICE,
  ...MESSAGE_ADVICE,
  ...TOOL_ADVICE,
  ...AGENT_ADVICE,
};

/**
 * The advice for a reason or error code: from this table, or from the table of error codes. Undefined if it is in
 * neither table, for example if it is a reason of a plugin.
 * @param source the source of tools to which the request of a trace line went; undefined for other lines
 */
export function adviceFor(reason: string, source?: unknown): Advice | undefined {
  const status = /^http_([45])\d\d$/.exec(reason);
  const key = status ? `http_${status[1]}xx` : reason;
  if (Object.hasOwn(ADVICE, key)) return ofSource(ADVICE[key], source);
  if (!Object.hasOwn(ERRORS, reason)) return undefined;
  const { meaning, solve } = ERRORS[reason as ErrorCode];
  return { happened: meaning, todo: solve };
}

function ofSource(advice: Advice | undefined, source: unknown): Advice | undefined {
  if (!advice?.todo_of_source || typeof source !== 'string' || source === BUSINESS_API) return advice;
  const { happened, todo_of_source } = advice;
  const name = `\`${source}\``;
  return {
    happened: happened.replace('business API', () => `system of ${name}`),
    todo: todo_of_source.replaceAll('{source}', () => name),
  };
}
