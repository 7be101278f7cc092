import { statfs } from 'node:fs/promises'

/** How full the disk of a folder is. */
export type MeasureDisk = () => Promise<{ usedBytes: number; totalBytes: number }>

/** Bytes that may still be written below the fullest of these folders; a privileged reserve is not counted. */
export function createFreeDiskProbe(folders: readonly string[]): () => Promise<number> {
  return async () => {
    const disks = await Promise.all(folders.map((folder) => statfs(folder)))
    return Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize))
  }
}

export function createDiskProbe(dir: string): MeasureDisk {
  return async () => {
    const { blocks, bfree, bsize } = await statfs(dir)
    return { usedBytes: (blocks - bfree) * bsize, totalBytes: blocks * bsize }
  }
}
