import { expect, it } from 'vitest';
import { importsOf, sourcesBelow } from './source-files.ts';

const DAEMON = 'src/daemon/';

/**
 * The parts of the daemon from the lowest layer to the highest: the folders of `src/daemon`, and the files next to
 * them. A part imports from its own layer and from lower layers, never from higher layers. This includes types.
 */
const LAYERS: readonly (readonly string[])[] = [
  [
    'back-off.ts',
    'clock.ts',
    'context-ended.ts',
    'errors.ts',
    'exact-json.ts',
    'fold-text.ts',
    'give-to-owner.ts',
    'import-failure.ts',
    'loopback.ts',
    'network-failure.ts',
    'node-http.ts',
    'on-abort.ts',
    'package-folder.ts',
    'printable.ts',
    'make-directory.ts',
    'provide-contracts.ts',
    'secret.ts',
    'settled-within.ts',
    'source-location.ts',
    'tickets.ts',
    'time-limit.ts',
    'tree-fault.ts',
    'version.ts',
    'unless-aborted.ts',
    'yaml-lines.ts',
  ],
  ['texts'],
  ['settings', 'modules'],
  [
    'log.ts',
    'journal-stream.ts',
    'inherited-socket.ts',
    'log-file.ts',
    'log-line.ts',
    'log-output.ts',
    'lifecycle.ts',
    'service-manager.ts',
  ],
  ['trace'],
  ['identity'],
  ['session'],
  ['guard'],
  ['store'],
  ['linking', 'replica'],
  ['agent'],
  ['downstream'],
  ['tools'],
  ['confirmation'],
  ['journal'],
  ['message', 'services.ts'],
  ['inbox'],
  ['stream'],
  ['metrics', 'telemetry'],
  ['http', 'readiness.ts'],
  ['plugin'],
  ['configuration'],
  ['dev'],
  [
    'create-services.ts',
    'serve.ts',
    'run.ts',
    'banner.ts',
    'check-parts.ts',
    'seal-stored-tokens.ts',
    'reseal-stored-tokens.ts',
    'sealed-record.ts',
  ],
  ['admin'],
];

/** The part to which a source file of the daemon belongs: its folder, or the file itself if it is in no folder. */
function roomOf(file: string): string {
  return file.slice(DAEMON.length).split('/', 1)[0] ?? '';
}

function layerOf(file: string): number {
  return LAYERS.findIndex((rooms) => rooms.includes(roomOf(file)));
}

it('every part of the daemon is in a layer, and every layer has only existing parts', () => {
  const rooms = new Set(sourcesBelow('src/daemon').map(roomOf));
  expect([...rooms].sort()).toEqual(LAYERS.flat().sort());
});

it('no part of the daemon imports from a higher layer', () => {
  const upwards = sourcesBelow('src/daemon').flatMap((file) =>
    importsOf(file)
      .filter((found) => found.file?.startsWith(DAEMON) && layerOf(found.file) > layerOf(file))
      .map(({ specifier }) => `${file} imports ${specifier}`),
  );
  expect(upwards).toEqual([]);
});
