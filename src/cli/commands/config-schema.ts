import { evalSchema } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { jsonText } from '../output.ts';

const SCHEMAS: Readonly<Record<string, () => Promise<object>>> = { eval: evalSchema };

export const command = defineCommand({
  ignoresDev: true,
  description:
    'Prints a JSON Schema (draft 2020-12), with which an editor completes and checks a file. `eval`: the files of cases of `agentd eval`. The schema of the configuration file is the output of `agentd config reference --json`.',
  args: { '<file>': { sentence: 'the kind of file: eval', values: Object.keys(SCHEMAS) } },
  examples: {
    'agentd config schema eval > eval.schema.json': 'Stores the schema of the cases of `agentd eval`.',
  },
  json: true,
  async run({ args: [kind = ''], out }) {
    const schema = Object.hasOwn(SCHEMAS, kind) ? await SCHEMAS[kind]?.() : undefined;
    if (schema === undefined)
      throw usageError(
        `there is no schema '${printable(kind)}'`,
        `Pass one of: ${Object.keys(SCHEMAS).join(', ')}.`,
      );
    out.data(schema, () => jsonText(schema));
    return undefined;
  },
});
