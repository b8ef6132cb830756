import { existsSync, statfsSync } from 'node:fs';

/** `OVERLAYFS_SUPER_MAGIC` of linux/magic.h. */
const OVERLAYFS = 0x794c7630;

/** Files that Docker and Podman put into each container. */
const MARKERS = ['/.dockerenv', '/run/.containerenv'];

/**
 * Whether a directory is in the writable layer of a container, which is deleted with the container. A volume is on a
 * file system of the host, not on overlayfs.
 */
export function isInContainerLayer(
  directory: string,
  { typeOf = fileSystemType, exists = existsSync, env = process.env } = {},
): boolean {
  const inContainer = MARKERS.some((path) => exists(path)) || env.KUBERNETES_SERVICE_HOST !== undefined;
  return inContainer && typeOf(directory) === OVERLAYFS;
}

/** The type of the directory's file system; null if it cannot be determined. */
function fileSystemType(directory: string): number | null {
  try {
    return statfsSync(directory).type;
  } catch {
    return null;
  }
}
