import { rm } from 'node:fs/promises'
import { migrations } from '../../../migrations/list.ts'
import type { CommitLogStore } from '../../adapters/commit-log/commit-log.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { readPositionOfFile } from '../../db/cluster/position.ts'
import { copyDatabase } from '../../db/copy.ts'

const PART_BYTES = 1024 * 1024
/** Older snapshots and the entries before them are deleted. */
const KEPT_SNAPSHOTS = 2
/** The leader stores a snapshot after this many entries. */
const ENTRIES_PER_SNAPSHOT = 20_000
const PAUSE_AFTER_FAILURE_MS = 60_000

/** Copies of the leader's database in the log, from which new nodes start. */
export class Snapshots {
  readonly #store: CommitLogStore
  readonly #file: string
  readonly #log: Log
  #newest: number | null = null
  #underWay: Promise<number> | null = null
  #failedAtMs = Number.NEGATIVE_INFINITY

  constructor(store: CommitLogStore, file: string, log: Log) {
    this.#store = store
    this.#file = file
    this.#log = log
  }

  /** Reads which snapshot is the newest, which another leader may have stored. @throws LogUnreachable */
  async refresh(): Promise<void> {
    const newest = await this.#store.findSnapshot()
    // A snapshot of an earlier schema does not serve nodes that know only the present one.
    this.#newest = newest && newest.schema === migrations.length ? newest.seq : null
  }

  /** Starts to store a snapshot when there is none, or the newest is old. */
  saveWhenDue(position: number): void {
    const isRecent = this.#newest !== null && position - this.#newest < ENTRIES_PER_SNAPSHOT
    const isPaused = performance.now() - this.#failedAtMs < PAUSE_AFTER_FAILURE_MS
    if (isRecent || isPaused || this.#underWay) return
    this.save().catch((error) => {
      this.#failedAtMs = performance.now()
      this.#log.error({ error: errorMessage(error) }, 'no snapshot could be stored in the log of the cluster')
    })
  }

  /** Stores the database file, and removes the entries that older snapshots contain. @returns its position in the log. */
  save(): Promise<number> {
    this.#underWay ??= this.#copy().finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  /** Resolves when no snapshot is being stored. */
  async settle(): Promise<void> {
    await this.#underWay?.catch(() => undefined)
  }

  async #copy(): Promise<number> {
    const copy = `${this.#file}.copy`
    await rm(copy, { force: true })
    try {
      await copyDatabase(this.#file, copy, () => undefined)
      const position = readPositionOfFile(copy)
      if (!position) throw new Error('the copy of the database has no position in the log')
      const { seq, hash } = position
      await this.#store.saveSnapshot({ seq, hash, schema: migrations.length }, readParts(copy))
      await this.#store.truncate(KEPT_SNAPSHOTS)
      this.#newest = seq
      this.#log.info({ seq }, 'a snapshot is stored in the log of the cluster')
      return seq
    } finally {
      await rm(copy, { force: true })
    }
  }
}

async function* readParts(file: string): AsyncGenerator<Uint8Array> {
  const whole = Bun.file(file)
  for (let start = 0; start < whole.size; start += PART_BYTES) {
    yield await whole.slice(start, start + PART_BYTES).bytes()
  }
}
