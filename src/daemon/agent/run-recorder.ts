import type { AgentTurn, ModelCallContent, ModelCallResult } from '../../agent/index.ts';
import type { GivenTurn, RecordedModelCall, RecordedRun, RecordedToolCall } from './recording.ts';

/** Maximum size of the prompts of one run that are recorded, characters of JSON. */
const PROMPTS_MAX = 8_388_608;

type RunEnd = Pick<
  RecordedRun,
  'agent_digest' | 'turn_id' | 'request_id' | 'runtime' | 'claims' | 'reply' | 'outcome' | 'warnings'
>;

/** Notes what one run sees and says (RECORD_RUNS). It is unmasked until it is stored. */
export class RunRecorder {
  #given: GivenTurn | null = null;
  #offered: RecordedRun['tools'] = [];
  readonly #indexes = new Map<string, number>();
  readonly #messages: unknown[] = [];
  readonly #modelCalls: RecordedModelCall[] = [];
  readonly #toolCalls: RecordedToolCall[] = [];
  #said = '';
  #size = 0;

  begin(turn: AgentTurn): void {
    const { session_id: _id, state, tools, meter: _m, reportWrites: _w, signal: _s, ...rest } = turn;
    const { deadline: _d, log: _l, ...given } = rest;
    this.#given = { ...given, state: state.value };
    this.#offered = tools.map(({ name, effect }) => ({ name, effect }));
  }

  /** @param content null if the runtime does not say what the model received and answered */
  model(
    { model, provider }: Pick<RecordedModelCall, 'model' | 'provider'>,
    content: ModelCallContent | null,
    { failure, input_tokens, output_tokens }: ModelCallResult,
  ): void {
    const { finish_reason, tool_calls, output = '' } = content ?? {};
    this.#modelCalls.push({
      model,
      provider,
      output,
      input_tokens,
      output_tokens,
      prompt: Array.isArray(content?.input) ? this.#recordMessages(content.input) : null,
      ...(tool_calls === undefined || tool_calls.length === 0 ? {} : { tool_calls }),
      ...(finish_reason === undefined ? {} : { finish_reason }),
      ...(failure === undefined ? {} : { failure }),
    });
  }

  /** A call before `begin` is the confirmed action, which the daemon makes. The agent is given its answer. */
  tool(call: RecordedToolCall): void {
    if (this.#given !== null) this.#toolCalls.push(call);
  }

  said(piece: string): void {
    this.#said += piece;
  }

  /** Null if the runtime was not started. */
  end(ended: RunEnd): RecordedRun | null {
    if (this.#given === null) return null;
    return {
      version: 1,
      ...ended,
      given: this.#given,
      tools: this.#offered,
      messages: this.#messages,
      model_calls: this.#modelCalls,
      tool_calls: this.#toolCalls,
      said: this.#said,
      ...(this.#size > PROMPTS_MAX ? { cut: true as const } : {}),
    };
  }

  /** Notes each message once, because every prompt of a run repeats the one before. */
  #recordMessages(messages: readonly unknown[]): number[] | null {
    const indexes: number[] = [];
    for (const message of messages) {
      const json = JSON.stringify(message);
      let index = this.#indexes.get(json);
      if (index === undefined) {
        this.#size += json.length;
        if (this.#size > PROMPTS_MAX) return null;
        index = this.#messages.push(JSON.parse(json)) - 1;
        this.#indexes.set(json, index);
      }
      indexes.push(index);
    }
    return indexes;
  }
}
