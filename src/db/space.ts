import { spareTurn } from '../core/concurrency/spare-turn.ts'
import type { Connection } from './open.ts'
import { write } from './write.ts'

const INCREMENTAL = 2
/** What is kept for what comes next: giving back and taking again costs more than it is worth. */
const KEPT_PAGES = 1000
const KEPT_SHARE = 0.05
/** Pages that are moved in one closure. */
const STEP_PAGES = 100

/** `canGiveBack`: freed pages can be given back in small steps; else only `compact` gives them back. */
export type SpaceState = { pages: number; freePages: number; pageBytes: number; canGiveBack: boolean }

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
 * Gives the pages of deleted rows back to the disk, a few at a time, but for some that are soon used again.
 * @returns how many pages it were. @throws what `signal` aborts with.
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
    // As one statement of a closure it would give back a single page.
    await write(connection.db, () => void connection.sqlite.exec(`PRAGMA incremental_vacuum(${step})`))
    given += step
  }
}

/**
 * Writes the whole file anew, without what is free, so that from then on space can be given back in small steps. Nobody else
 * may use the file meanwhile, and the disk needs space for it twice.
 * @throws SqliteError when it is in use, or there is no space; the file is then as it was.
 */
export function compact({ sqlite }: Pick<Connection, 'sqlite'>): void {
  sqlite.pragma('auto_vacuum = INCREMENTAL')
  sqlite.exec('VACUUM')
  sqlite.pragma('wal_checkpoint(TRUNCATE)')
}
