import { closeSchema } from './close-schema.ts';
import { withSafeNames } from './safe-names.ts';
import type { Tool, ToolSourceInfo } from './tool.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The record of a tool as the policy uses it. Each member that the policy uses is read once, so that a source cannot
 * change it between the check and the call. The record's `source` comes from the registry, not from the tool. Throws if
 * the tool cannot be used.
 */
export function admitTool(tool: Tool, source: ToolSourceInfo): Tool {
  const {
    name,
    title,
    description,
    parameters,
    effect,
    credentials,
    confirm,
    summary,
    bind,
    hide,
    idempotent,
  } = tool;
  if (tool.source !== source) throw new Error('it names a source that is not its own');
  if (!NAME.test(name)) throw new Error('its name is not 1 to 64 letters, digits, `_` or `-`');
  if (effect !== 'read' && effect !== 'write') throw new Error('its effect is neither `read` nor `write`');
  if (confirm !== 'always' && confirm !== 'never')
    throw new Error('its `confirm` is neither `always` nor `never`');
  const shown = tool.public;
  const { offered, unusable, timeout_ms, digest } = tool;
  return Object.freeze({
    name,
    title,
    description,
    parameters: withSafeNames(closeSchema(parameters)),
    source,
    effect,
    credentials,
    confirm,
    summary,
    public: shown === 'all' ? shown : Object.freeze([...shown]),
    bind: Object.freeze({ ...bind }),
    // An argument that the model chose is always shown.
    hide: Object.freeze(hide.filter((parameter) => Object.hasOwn(bind, parameter))),
    idempotent,
    ...(digest === undefined ? {} : { digest }),
    ...(timeout_ms === undefined ? {} : { timeout_ms }),
    ...(offered === undefined
      ? {}
      : { offered: (run: Parameters<typeof offered>[0]) => offered.call(tool, run) }),
    ...(unusable === undefined
      ? {}
      : { unusable: (args: Parameters<typeof unusable>[0]) => unusable.call(tool, args) }),
    send: (args, call) => tool.send(args, call),
  } satisfies Tool);
}
