import { statfs } from 'node:fs/promises'

/** How full the disk of a folder is. */
export type MeasureDisk = () => Promise<{ usedBytes: number; totalBytes: number }>

export function createDiskProbe(dir: string): MeasureDisk {
  return async () => {
    const { blocks, bfree, bsize } = await statfs(dir)
    return { usedBytes: (blocks - bfree) * bsize, totalBytes: blocks * bsize }
  }
}
