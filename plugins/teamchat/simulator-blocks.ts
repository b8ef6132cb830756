import type { Shown, ShownButton } from '../../src/channel/index.ts';

/** Limits of the platform (https://docs.slack.dev/reference/block-kit). */
const BLOCKS_MAX = 50;
const HEADER_MAX = 150;
const SECTION_MAX = 3000;
const FIELD_MAX = 2000;
const FIELDS_MAX = 10;
const ELEMENTS_MAX = 10;
const LABEL_MAX = 75;
const VALUE_MAX = 2000;

interface Text {
  type?: string;
  text?: string;
}

interface Button {
  action_id?: string;
  text?: Text;
  value?: string;
}

interface Block {
  type: string;
  text?: Text;
  fields?: Text[];
  elements?: (Button & Text)[];
}

/** What people see of a message with blocks, which take the place of its text. Null if the platform would refuse them. */
export function readBlocks(json: string): Required<Pick<Shown, 'text' | 'buttons'>> | null {
  const blocks = JSON.parse(json) as Block[];
  const buttons = blocks.flatMap(({ type, elements = [] }) => (type === 'actions' ? elements : []));
  const ids = new Set(buttons.map(({ action_id }) => action_id));
  const areValid =
    blocks.length > 0 &&
    blocks.length <= BLOCKS_MAX &&
    blocks.every(isValid) &&
    buttons.every(({ text, value }) => isPlain(text, LABEL_MAX) && isText(value, VALUE_MAX)) &&
    ids.size === buttons.length;
  if (!areValid) return null;
  return { text: blocks.flatMap(renderLines).join('\n'), buttons: buttons.map(toButton) };
}

function isValid({ type, text, fields = [], elements = [] }: Block): boolean {
  switch (type) {
    case 'header':
      return isPlain(text, HEADER_MAX);
    case 'section': {
      const hasText = text === undefined ? fields.length > 0 : isText(text.text, SECTION_MAX);
      return hasText && fields.length <= FIELDS_MAX && fields.every((one) => isText(one.text, FIELD_MAX));
    }
    case 'context':
      return isCount(elements.length) && elements.every((one) => isText(one.text as string, SECTION_MAX));
    case 'actions':
      return isCount(elements.length);
    default:
      return false;
  }
}

function renderLines({ type, text, fields = [], elements = [] }: Block): string[] {
  if (type === 'actions') return [];
  if (type === 'context') return elements.map((one) => String(one.text));
  const rows = fields.flatMap((field, index) =>
    index % 2 === 0 ? `${field.text}: ${fields[index + 1]?.text ?? ''}` : [],
  );
  return text === undefined ? rows : [text.text ?? '', ...rows];
}

function toButton({ text, value }: Button): ShownButton {
  return { label: text?.text ?? '', press: value ?? '' };
}

function isPlain(text: Text | undefined, max: number): boolean {
  return text?.type === 'plain_text' && isText(text.text, max);
}

function isText(text: string | undefined, max: number): boolean {
  return typeof text === 'string' && text.length > 0 && text.length <= max;
}

function isCount(count: number): boolean {
  return count > 0 && count <= ELEMENTS_MAX;
}
