/** A reply as a tree: the part of mdast that platforms can show, with the names of mdast. */
export type Block = Paragraph | Heading | Quote | List | CodeBlock | Table | Rule | Footnote;

export interface Paragraph {
  readonly type: 'paragraph';
  readonly children: readonly Inline[];
}

export interface Heading {
  readonly type: 'heading';
  readonly children: readonly Inline[];
}

export interface Quote {
  readonly type: 'blockquote';
  readonly children: readonly Block[];
}

export interface List {
  readonly type: 'list';
  /** The number of the first item. Null if the list has bullets. */
  readonly start: number | null;
  /** Whether there are empty lines between the items. */
  readonly spread: boolean;
  readonly children: readonly ListItem[];
}

export interface ListItem {
  /** Whether there are empty lines between the blocks of the item. */
  readonly spread: boolean;
  /** Null if the item is not a task. */
  readonly checked: boolean | null;
  readonly children: readonly Block[];
}

export interface CodeBlock {
  readonly type: 'code';
  /** Empty if no language is named. */
  readonly lang: string;
  readonly value: string;
}

export interface Table {
  readonly type: 'table';
  /** Rows of cells, head first. Rows may differ in length. */
  readonly rows: readonly (readonly (readonly Inline[])[])[];
}

export interface Rule {
  readonly type: 'thematicBreak';
}

export interface Footnote {
  readonly type: 'footnoteDefinition';
  readonly label: string;
  readonly children: readonly Block[];
}

export type Inline = Text | Code | Break | Styled | Link | Image;

export interface Text {
  readonly type: 'text';
  readonly value: string;
}

export interface Code {
  readonly type: 'inlineCode';
  readonly value: string;
}

export interface Break {
  readonly type: 'break';
}

export interface Styled {
  readonly type: 'strong' | 'emphasis' | 'delete';
  readonly children: readonly Inline[];
}

export interface Link {
  readonly type: 'link';
  readonly url: string;
  readonly children: readonly Inline[];
}

export interface Image {
  readonly type: 'image';
  readonly url: string;
  readonly alt: string;
}
