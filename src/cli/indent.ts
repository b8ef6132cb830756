import { withoutControls } from '../daemon/admin/texts.ts';

/**
 * Text with its line breaks, each line indented, except empty ones.
 * @param first the indentation of the first line, if it differs
 */
export function indent(text: string, by: string, first = by): string {
  return text
    .split('\n')
    .map((line, index) => (line === '' ? '' : `${index === 0 ? first : by}${withoutControls(line)}`))
    .join('\n');
}
