import { spareTurn } from '../core/concurrency/timing.ts'
import type { Connection } from './open.ts'
import { write } from './write.ts'

const INCREMENTAL = 2
/** Free pages kept for the next writes. */
const KEPT_PAGES = 1000
const KEPT_SHARE = 0.05
/** Pages moved per transaction. */
const STEP_PAGES = 100

/** `canGiveBack`: free pages can be returned incrementally; otherwise only by `compact`. */
type SpaceState = { pages: number; freePages: number; pageBytes: number; canGiveBack: boolean }

export function readSpace({ sqlite }: Pick<Connection, 'sqlite'>): SpaceState {
  const number = (name: string) => Number(sqlite.pragma(name, { simple: true }))
  return {
    pages: number('page_count'),
    freePages: number('freelist_count'),
    pageBytes: number('page_size'),
    canGiveBack: number('auto_vacuum') === INCREMENTAL,
  }
}

/**
 * Returns free pages to the file system in small steps, except a reserve.
 * @returns the number of pages.
 * @throws the reason of `signal`.
 */
export async function giveBackSpace(connection: Connection, signal: AbortSignal): Promise<number> {
  let given = 0
  for (;;) {
    const { pages, freePages, canGiveBack } = readSpace(connection)
    const surplus = freePages - Math.max(KEPT_PAGES, Math.ceil(pages * KEPT_SHARE))
    if (!canGiveBack || surplus <= 0) return given
    await spareTurn()
    signal.throwIfAborted()
    const step = Math.min(STEP_PAGES, surplus)
    // `exec`, because a single step of the statement would return only one page.
    await write(connection.db, () => void connection.sqlite.exec(`PRAGMA incremental_vacuum(${step})`))
    given += step
  }
}

/**
 * Rewrites the file without free pages and enables incremental vacuum. Needs exclusive access and twice the disk space.
 * @throws SqliteError when the file is in use or the disk is full; the file is unchanged then.
 */
export function compact({ sqlite }: Pick<Connection, 'sqlite'>): void {
  sqlite.pragma('auto_vacuum = INCREMENTAL')
  sqlite.exec('VACUUM')
  sqlite.pragma('wal_checkpoint(TRUNCATE)')
}
