import { rm } from 'node:fs/promises'
import { migrations } from '../../../migrations/list.ts'
import type { CommitLogStore } from '../../adapters/commit-log/commit-log.ts'
import { startWorker } from '../../core/concurrency/start-worker.ts'
import type { CopyReply, CopyRequest } from '../../db/cluster/copy-worker.ts'
import { type LogPosition, readPositionOfFile } from '../../db/cluster/position.ts'

const PART_BYTES = 1024 * 1024
/** Older snapshots and the entries before them are deleted. */
const KEPT_SNAPSHOTS = 2

/** The executable embeds the worker under its path from `src`, as listed in `scripts/build.ts`. */
const WORKER = Bun.isStandaloneExecutable
  ? './db/cluster/copy-worker.ts'
  : new URL('../../db/cluster/copy-worker.ts', import.meta.url).href

/**
 * Stores the database file in the log, from which new nodes start, and removes the entries that it makes superfluous.
 * @returns its position in the log.
 */
export async function saveSnapshot(store: CommitLogStore, file: string): Promise<LogPosition> {
  const copy = `${file}.copy`
  await rm(copy, { force: true })
  try {
    await copyDatabase({ file, to: copy })
    const position = requirePosition(copy)
    const { seq, hash } = position
    await store.saveSnapshot({ seq, hash, schema: migrations.length }, readParts(copy))
    await store.truncate(KEPT_SNAPSHOTS)
    return position
  } finally {
    await rm(copy, { force: true })
  }
}

async function copyDatabase(request: CopyRequest): Promise<void> {
  const worker = startWorker(WORKER)
  try {
    const { promise, resolve, reject } = Promise.withResolvers<CopyReply>()
    worker.onmessage = ({ data }: MessageEvent<CopyReply>) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
    worker.postMessage(request)
    const { error } = await promise
    if (error !== null) throw new Error(`the database cannot be copied: ${error}`)
  } finally {
    worker.terminate()
  }
}

function requirePosition(file: string): LogPosition {
  const position = readPositionOfFile(file)
  if (!position) throw new Error('the copy of the database has no position in the log')
  return position
}

async function* readParts(file: string): AsyncGenerator<Uint8Array> {
  const whole = Bun.file(file)
  for (let start = 0; start < whole.size; start += PART_BYTES) {
    yield await whole.slice(start, start + PART_BYTES).bytes()
  }
}
