import { statSync } from 'node:fs'

/** Sizes of a database file and of its write-ahead log; null while there is no such file, as for one in memory. */
export function createDatabaseProbe(file: string): () => { bytes: number; logBytes: number } | null {
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size
  return () => {
    const bytes = sizeOf(file)
    return bytes === undefined ? null : { bytes, logBytes: sizeOf(`${file}-wal`) ?? 0 }
  }
}
