import { migrations } from '../../../migrations/list.ts'
import type { CommitLogStore } from '../../adapters/commit-log/commit-log.ts'
import { LogUnreachable } from '../../adapters/commit-log/log-database.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { noteChange } from '../../db/changes.ts'
import { createLogApplier, type LogApplier, type LogEntry } from '../../db/cluster/apply.ts'
import { CHECK_STATEMENT, isCheck } from '../../db/cluster/checksums.ts'
import { hashEntry, type LogPosition, preparePositionUpdate, readLogPosition } from '../../db/cluster/position.ts'
import { encodeStatements } from '../../db/cluster/statements.ts'
import { countMigrations } from '../../db/migrate.ts'
import type { Connection } from '../../db/open.ts'
import type { CommitLog } from '../../db/write.ts'
import type { TableChecks } from './checks.ts'
import { createLogRefusal, createRefusal } from './refusals.ts'

const ENTRIES_PER_READ = 500

/** `behind`: the next entry was written after migrations that this node's file lacks. */
type CaughtUp = { state: 'current' } | { state: 'behind'; schema: number }

/** The log of the cluster and the part of it that this node's database file contains. */
export class LocalLog {
  readonly #store: CommitLogStore
  readonly #node: string
  readonly #checks: TableChecks
  readonly #log: Log
  #position: LogPosition
  #connection: Connection | null = null
  #applier: LogApplier | null = null
  #schema = 0
  #isUncertain = false
  #isOvertaken = false

  constructor(store: CommitLogStore, ids: { node: string; cluster: string }, checks: TableChecks, log: Log) {
    this.#store = store
    this.#node = ids.node
    this.#checks = checks
    this.#log = log
    this.#position = { cluster: ids.cluster, seq: 0, hash: '' }
  }

  position = () => this.#position.seq
  /** Returns whether the log may contain an entry of this leader that its file lacks. */
  isUncertain = () => this.#isUncertain
  /** Returns whether another node has written since this one led. */
  isOvertaken = () => this.#isOvertaken
  /** Returns whether the file has all migrations of this program. */
  hasAllMigrations = () => this.#schema === migrations.length

  /** Takes the database that entries are applied to. `findRefusal` returns why this node may not write. */
  open(connection: Connection, findRefusal: () => AppError | null): CommitLog {
    const { sqlite } = connection
    const position = readLogPosition(sqlite)
    if (!position) throw new Error('the database has no position in the log of the cluster')
    this.#position = position
    this.#connection = connection
    this.#schema = countMigrations(sqlite)
    const setPosition = preparePositionUpdate(sqlite)
    this.#applier = createLogApplier(sqlite)
    this.#isUncertain = false
    this.#isOvertaken = false
    let isChecked = false
    return {
      findRefusal,
      append: async (statements) => {
        isChecked = this.#checks.takeDue()
        const entry = this.#nextEntry(encodeStatements(isChecked ? [...statements, CHECK_STATEMENT] : statements))
        setPosition.run(position.cluster, entry.seq, entry.hash)
        await this.#append(entry)
      },
      noteCommit: () => {
        if (isChecked) this.#checks.read(this.#position.seq, true)
      },
      noteLostCommit: (error) => {
        this.#log.error({ error: errorMessage(error) }, 'an entry of the log could not be committed here')
        this.#position = readLogPosition(sqlite) ?? position
        this.#isUncertain = true
      },
    }
  }

  /**
   * Applies the entries that the file lacks.
   * @throws DivergenceError when they do not continue this file's history; LogUnreachable.
   */
  async catchUp(): Promise<CaughtUp> {
    for (;;) {
      const entries = await this.#store.readAfter(this.#position.seq, ENTRIES_PER_READ)
      const later = entries.findIndex(({ schema }) => schema > this.#schema)
      this.#apply(later === -1 ? entries : entries.slice(0, later))
      const schema = entries[later]?.schema
      if (schema !== undefined) return { state: 'behind', schema }
      if (entries.length < ENTRIES_PER_READ) {
        this.#isUncertain = false
        return { state: 'current' }
      }
    }
  }

  /**
   * Appends an empty entry, after which a former leader can append nothing. Its schema makes the other nodes migrate.
   * @returns false when another node has written meanwhile.
   * @throws LogUnreachable
   */
  async takeLead(): Promise<boolean> {
    const entry = this.#nextEntry(encodeStatements([]))
    const outcome = await this.#store.append(this.#toStored(entry))
    if (outcome === 'unknown') throw new LogUnreachable('the log does not answer')
    if (outcome === 'stored') this.#apply([entry])
    return outcome === 'stored'
  }

  /** A checked entry ends its transaction, so that the tables are read as of this entry. */
  #apply(entries: readonly LogEntry[]): void {
    if (!this.#applier || !this.#connection) throw new Error('this node has no database to apply entries to')
    let rest = entries
    while (rest.length > 0) {
      const checked = rest.findIndex(({ body }) => isCheck(body))
      const count = checked === -1 ? rest.length : checked + 1
      this.#position = this.#applier.apply(this.#position, rest.slice(0, count))
      if (checked !== -1) this.#checks.read(this.#position.seq, false)
      rest = rest.slice(count)
    }
    if (entries.length > 0) noteChange(this.#connection.db)
  }

  /** @throws AppError `unavailable` */
  async #append(entry: LogEntry): Promise<void> {
    const outcome = await this.#store.append(this.#toStored(entry)).catch((error) => {
      this.#isUncertain = true
      throw createLogRefusal(error)
    })
    if (outcome === 'stored') {
      this.#position = { ...this.#position, seq: entry.seq, hash: entry.hash }
      return
    }
    if (outcome === 'taken') {
      this.#isOvertaken = true
      throw createRefusal('Another node of the cluster writes now.', { code: 'NOT_LEADER' })
    }
    this.#isUncertain = true
    // Without Retry-After, because the log may have stored the entry.
    throw new AppError('unavailable', 'The log of the cluster did not answer: the outcome is unknown.', {
      code: 'OUTCOME_UNKNOWN',
    })
  }

  #nextEntry(body: string): LogEntry {
    const { seq, hash } = this.#position
    return { seq: seq + 1, body, hash: hashEntry(hash, body) }
  }

  #toStored(entry: LogEntry) {
    return { ...entry, id: newId('entry'), node: this.#node, schema: migrations.length }
  }
}
