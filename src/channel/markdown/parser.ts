import MarkdownIt, { type Env, type Token } from 'markdown-it';
import { address, angleAddress, text } from './syntax/address.ts';
import { footnote, footnoteReference } from './syntax/footnote.ts';
import { pairStrikethrough, strikethrough } from './syntax/strikethrough.ts';
import { table } from './syntax/table.ts';

/** CommonMark with GitHub's tables, strikethrough, footnotes and bare addresses. HTML is text. */
const parser = new MarkdownIt({ html: false });
const INTERRUPTS_TEXT = ['paragraph', 'reference'];
const INTERRUPTS_ALL = [...INTERRUPTS_TEXT, 'blockquote', 'list'];
parser.disable('table');
// A line that looks like the head of a table may also begin another block, so other blocks are tried first.
parser.block.ruler.before('lheading', 'gfm_table', table, { alt: INTERRUPTS_TEXT });
parser.block.ruler.before('reference', 'footnote', footnote, { alt: INTERRUPTS_ALL });
parser.inline.ruler.at('text', text);
parser.inline.ruler.at('linkify', address);
parser.inline.ruler.at('autolink', angleAddress);
parser.inline.ruler.at('strikethrough', strikethrough);
parser.inline.ruler2.at('strikethrough', pairStrikethrough);
parser.inline.ruler.before('link', 'footnote_reference', footnoteReference);
// Links are kept unchanged here; `safeUrl` checks them later.
parser.validateLink = () => true;
parser.normalizeLink = (url) => url;
parser.normalizeLinkText = (url) => url;

/** The blocks of a text. `env` collects definitions of links and footnotes, which all parts of a reply share. */
export function readBlocks(text: string, env: Env): Token[] {
  const tokens: Token[] = [];
  parser.block.parse(text, parser, env, tokens);
  return tokens;
}

/** The marks and links in the text of a block. */
export function readInline(text: string, env: Env): Token[] {
  const tokens: Token[] = [];
  parser.inline.parse(text, parser, env, tokens);
  return tokens;
}
