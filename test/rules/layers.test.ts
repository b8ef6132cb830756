import { expect, it } from 'vitest';
import { importsOf, sourcesBelow } from './source-files.ts';

const DAEMON = 'src/daemon/';

/**
 * The parts of the daemon from the lowest layer to the highest: the folders and files of `src/daemon`, and folders in
 * them that are another layer than the rest of their folder. A part imports from its own layer and from lower layers,
 * never from higher layers. This includes types.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['channels/modules', 'errors.ts', 'files', 'syntax', 'texts', 'time'],
  ['settings'],
  ['process'],
  ['trace'],
  ['identity'],
  ['session'],
  ['guard'],
  ['store'],
  ['feedback', 'linking', 'replica'],

  ['agent'],
  ['tools/downstream'],
  ['tools'],
  ['agents', 'renewal'],
  ['message'],
  ['replay'],
  ['inbox'],
  ['stream'],
  ['metrics', 'telemetry'],
  ['http'],
  ['channels'],
  ['settings/configure'],
  ['dev', 'sealing'],
  ['reload'],
  ['banner.ts', 'check-parts.ts', 'create-services.ts', 'run.ts', 'serve.ts', 'start-observing.ts'],
  ['eval'],
  ['admin'],
];

const PARTS = LAYERS.flat();

/** The part to which a source file of the daemon belongs: the smallest folder that is listed, or the file itself. */
function partOf(file: string): string {
  const path = file.slice(DAEMON.length);
  const parts = PARTS.filter((part) => path === part || path.startsWith(`${part}/`));
  return parts.sort((a, b) => b.length - a.length)[0] ?? path;
}

function layerOf(file: string): number {
  return LAYERS.findIndex((parts) => parts.includes(partOf(file)));
}

it('every part of the daemon is in a layer, and every layer has only existing parts', () => {
  const parts = new Set(sourcesBelow('src/daemon').map(partOf));
  expect([...parts].sort()).toEqual([...PARTS].sort());
});

it('no part of the daemon imports from a higher layer', () => {
  const upwards = sourcesBelow('src/daemon').flatMap((file) =>
    importsOf(file)
      .filter((found) => found.file?.startsWith(DAEMON) && layerOf(found.file) > layerOf(file))
      .map(({ specifier }) => `${file} imports ${specifier}`),
  );
  expect(upwards).toEqual([]);
});
