import type Database from 'better-sqlite3'
import { AppError, errorMessage } from '../core/errors.ts'
import { noteChange, watchChanges } from './changes.ts'
import { type CapturedStatements, captureStatements, type LoggedStatement } from './cluster/statements.ts'
import type { Connection, Db, Tx } from './open.ts'

/** How long a commit may wait for another process, such as `stead user set-plan`. */
const BUSY_LIMIT_MS = 2000
const BUSY_PAUSE_MS = 10
/** Longer batches are split over several turns of the event loop, each with its own commit. */
const TURN_MS = 25

type Work = { closure: (tx: Tx) => unknown; resolve: (value: never) => void; reject: (error: unknown) => void }
type Outcome = { work: Work; result: unknown }

const queues = new WeakMap<Db, WriteQueue>()

/** Returns why the last write failed, such as a full disk; null after a successful commit. */
export function findWriteFailure(db: Db): string | null {
  return queues.get(db)?.failure ?? null
}

/** Returns why writes are refused at the moment, in a cluster without its log or its lease; else null. */
export function findWriteRefusal(db: Db): AppError | null {
  return queues.get(db)?.log?.findRefusal() ?? null
}

/** Returns whether the log of a cluster stores the writes. */
export function isLogged(db: Db): boolean {
  return Boolean(queues.get(db)?.log)
}

/** The log of a cluster, which stores the statements of each batch before its commit. */
export type CommitLog = {
  /** Returns why this node may not write now, or null. */
  findRefusal(): AppError | null
  /** Stores the statements of an open transaction. @throws AppError `unavailable`; the transaction is rolled back then. */
  append(statements: readonly LoggedStatement[]): Promise<void>
  /** Called after the commit of a stored batch, before another one begins. */
  noteCommit(): void
  /** Called when a stored batch could not be committed here: this file now lacks entries of the log. */
  noteLostCommit(error: unknown): void
}

/** Creates the write queue of a newly opened database. */
export function openWriteQueue(connection: Connection, log: CommitLog | null = null): void {
  queues.set(connection.db, new WriteQueue(connection, log))
  watchChanges(connection)
}

/**
 * Runs `closure` in a savepoint of the shared transaction and settles after its commit, so a result is durable.
 * Closures run in call order, see earlier writes, and roll back alone when they throw.
 * @throws whatever `closure` throws; AppError `not_found` when a referenced row was deleted, `unavailable` when the
 * disk fails or another process holds the file.
 */
export function write<T>(db: Db, closure: (tx: Tx) => T): Promise<T> {
  const queue = queues.get(db)
  if (!queue) throw new Error('This database was opened without a write queue')
  return queue.add(closure)
}

/** Group commit: the closures of one turn of the event loop share one `BEGIN IMMEDIATE` and one fsync. */
class WriteQueue {
  readonly #db: Db
  readonly #tx: Tx
  readonly #sqlite: Database.Database
  readonly #statements: Record<'begin' | 'commit' | 'rollback' | 'save' | 'release' | 'undo', Database.Statement>
  failure: string | null = null
  #failures = 0
  #waiting: Work[] = []
  #busySince: number | undefined
  readonly log: CommitLog | null
  readonly #captured: CapturedStatements | null
  /** A batch waits for the log, in an open transaction. */
  #isAppending = false
  #isScheduled = false

  constructor({ db, tx, sqlite }: Connection, log: CommitLog | null) {
    this.#db = db
    this.#tx = tx
    this.#sqlite = sqlite
    this.#statements = {
      begin: sqlite.prepare('BEGIN IMMEDIATE'),
      commit: sqlite.prepare('COMMIT'),
      rollback: sqlite.prepare('ROLLBACK'),
      save: sqlite.prepare('SAVEPOINT closure'),
      release: sqlite.prepare('RELEASE closure'),
      undo: sqlite.prepare('ROLLBACK TO closure'),
    }
    this.log = log
    this.#captured = log && captureStatements(sqlite)
  }

  add<T>(closure: (tx: Tx) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ closure, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isAppending || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#isScheduled = false
    if (this.#isAppending) return
    const refusal = this.log?.findRefusal()
    if (refusal) {
      for (const work of this.#waiting.splice(0)) work.reject(refusal)
      return
    }
    try {
      this.#statements.begin.run()
    } catch (error) {
      this.#retryOrFail(error)
      return
    }
    this.#busySince = undefined
    const batch = this.#waiting
    this.#waiting = []
    const failures = this.#failures
    const written = this.#runAll(batch)
    const statements = this.#captured?.take() ?? []
    if (this.log && statements.length > 0) void this.#commitLogged(this.log, statements, written, failures)
    else this.#commit(written, failures)
  }

  /** Commits after the log has stored the batch; other batches wait meanwhile. */
  async #commitLogged(
    log: CommitLog,
    statements: LoggedStatement[],
    written: Outcome[],
    failures: number,
  ): Promise<void> {
    this.#isAppending = true
    try {
      await log.append(statements)
      const failure = this.#commit(written, failures)
      if (failure === null) log.noteCommit()
      else log.noteLostCommit(failure)
    } catch (error) {
      if (this.#sqlite.inTransaction) this.#statements.rollback.run()
      for (const { work } of written) work.reject(error)
    } finally {
      this.#isAppending = false
      this.#schedule()
    }
  }

  /** @returns why the commit failed, or null. */
  #commit(written: Outcome[], failures: number): unknown {
    try {
      if (this.#sqlite.inTransaction) this.#statements.commit.run()
    } catch (error) {
      if (this.#sqlite.inTransaction) this.#statements.rollback.run()
      this.#noteFailure(error)
      failAll(written, error)
      return error
    }
    if (written.length > 0 && this.#failures === failures) this.failure = null
    noteChange(this.#db)
    for (const { work, result } of written) work.resolve(result as never)
    return null
  }

  /** Runs each closure in its savepoint and returns those awaiting the commit. */
  #runAll(batch: Work[]): Outcome[] {
    const written: Outcome[] = []
    const endsAt = performance.now() + TURN_MS
    for (const [index, work] of batch.entries()) {
      if (index > 0 && performance.now() > endsAt) {
        this.#postpone(batch.slice(index))
        break
      }
      try {
        written.push({ work, result: this.#runOne(work.closure) })
      } catch (error) {
        work.reject(toWriteError(error))
        if (isDiskError(error)) this.#noteFailure(error)
        if (this.#sqlite.inTransaction) continue
        // A full disk makes SQLite roll back the whole transaction, so earlier closures failed too.
        this.#captured?.take()
        failAll(written, error)
        this.#postpone(batch.slice(index + 1))
        return []
      }
    }
    return written
  }

  #postpone(works: Work[]): void {
    this.#waiting.unshift(...works)
    this.#schedule()
  }

  #runOne(closure: (tx: Tx) => unknown): unknown {
    this.#statements.save.run()
    const captured = this.#captured?.count() ?? 0
    try {
      const result = this.#captured ? this.#captured.record(() => closure(this.#tx)) : closure(this.#tx)
      requireSynchronous(result)
      this.#statements.release.run()
      return result
    } catch (error) {
      this.#captured?.keepFirst(captured)
      if (this.#sqlite.inTransaction) {
        this.#statements.undo.run()
        this.#statements.release.run()
      }
      throw error
    }
  }

  #noteFailure(error: unknown): void {
    this.failure = errorMessage(error)
    this.#failures++
  }

  #retryOrFail(error: unknown): void {
    this.#busySince ??= performance.now()
    if (isBusy(error) && performance.now() - this.#busySince < BUSY_LIMIT_MS) {
      this.#isScheduled = true
      setTimeout(() => this.#flush(), BUSY_PAUSE_MS)
      return
    }
    this.#busySince = undefined
    this.#noteFailure(error)
    const batch = this.#waiting
    this.#waiting = []
    for (const work of batch) work.reject(storageError(error))
  }
}

/** An unexecuted query is thenable: awaiting it would write outside the transaction. */
function requireSynchronous(result: unknown): void {
  if (typeof result !== 'object' || result === null || !('then' in result)) return
  if (result instanceof Promise) result.catch(() => undefined)
  throw new Error('A write closure must not be asynchronous, nor return a query that was not run')
}

function failAll(outcomes: Outcome[], error: unknown): void {
  for (const { work } of outcomes) work.reject(storageError(error))
}

function toWriteError(error: unknown): unknown {
  if (isDiskError(error)) return storageError(error)
  // The referenced agent or account was deleted after the caller had read it.
  if (codeOf(error) === 'SQLITE_CONSTRAINT_FOREIGNKEY')
    return new AppError('not_found', 'Not found', {}, { cause: error })
  return error
}

function storageError(error: unknown): AppError {
  return new AppError('unavailable', 'Storage is not available', {}, { cause: error })
}

function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY')
}

function isDiskError(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB)/.test(codeOf(error))
}

/** Drizzle wraps errors of raw queries. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return 'code' in error ? String(error.code) : codeOf(error.cause)
}
