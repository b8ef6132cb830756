import { isObject } from '../../../channel/json-object.ts';
import { asFields, asObjects, type Fields } from '../../../channel/payload.ts';

/**
 * A page of a server's list of tools as the library's client can read it: with only the members that the daemon uses.
 * The client refuses the whole list if there is a mistake in any tool, so one tool, even one that the entry does not
 * list, would take all others away.
 */
export function readableListing(result: Fields): Fields {
  const { tools, nextCursor, ...rest } = result;
  // Some servers end their list with an empty cursor.
  const further = nextCursor === undefined || nextCursor === '' ? {} : { nextCursor };
  return {
    ...rest,
    ...further,
    tools: Array.isArray(tools) ? asObjects(tools).flatMap(readableTool) : tools,
  };
}

/** Stands for what is not the schema of an object. `toolParameters` refuses it, so only this tool is withheld. */
const NOT_A_SCHEMA = { required: null };

function readableTool({ name, title, description, annotations, inputSchema }: Fields): Fields[] {
  if (typeof name !== 'string') return [];
  const { properties = {} } = asFields(inputSchema);
  const isReadable = isObject(inputSchema) && isObject(properties);
  return [
    {
      name,
      ...texts({ title, description }),
      annotations: texts({ title: asFields(annotations).title }),
      inputSchema: isReadable ? inputSchema : NOT_A_SCHEMA,
    },
  ];
}

/** The members that are texts. */
function texts(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string'));
}
