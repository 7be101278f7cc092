import type { StoredObject } from './s3.ts'

/**
 * Durable files of the installation by name, such as `videos/vid_1.mp4`. Every method throws AppError `unavailable` when
 * the bucket refuses or does not answer in time.
 */
export type Objects = {
  /** Lists the objects below a prefix that ends with a slash, sorted by name. */
  list(prefix: string): Promise<StoredObject[]>
  /** Returns the size in bytes; null for a missing object. */
  findSize(name: string): Promise<number | null>
  /** Stores the file that `write` creates at the given path. The object appears when it is complete and durable. */
  put(name: string, write: (file: string) => Promise<unknown>): Promise<void>
  /** Calls `work` with a local file that has the object's content. @throws AppError `not_found`. */
  use<T>(name: string, work: (file: string) => Promise<T>): Promise<T>
  /** Returns the content from byte `start` up to `end`, exclusive. The object must exist. */
  read(name: string, range: { start: number; end: number }): ReadableStream<Uint8Array>
  /** Renames an object if it exists. */
  move(from: string, to: string): Promise<void>
  /** Removes an object if it exists. */
  remove(name: string): Promise<void>
  /** Removes every object below a prefix that ends with a slash. */
  removeAll(prefix: string): Promise<void>
}
