import { statfs } from 'node:fs/promises'

/** Bytes that may still be written below the fullest of these folders; a privileged reserve is not counted. */
export function createFreeDiskProbe(folders: readonly string[]): () => Promise<number> {
  return async () => {
    const disks = await Promise.all(folders.map((folder) => statfs(folder)))
    return Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize))
  }
}
