import type Database from 'better-sqlite3'
import { startWorker } from '../../core/concurrency/start-worker.ts'
import { toWholeSecond } from '../../core/concurrency/timing.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { BUSY_TIMEOUT_MS } from '../open.ts'
import type { CheckpointReply, CheckpointRequest } from './checkpoint-worker.ts'
import { checkpoint, prepareProgress } from './wal.ts'

const PAGE_BYTES = 4096
/** How often the log is checked while it grows, and while it does not. */
const LOOK_MS = 250
const SILENT_LOOK_MS = 2000
/** One megabyte. Smaller logs are copied by this thread after a quiet period. */
const MIN_FRAMES = 250
const QUIET_MS = 30_000
/** 16 MB: restart a longer log as soon as few frames are left to copy. */
const RESTART_FRAMES = 4000
/** Maximum number of frames copied while writers wait. */
const MAX_REST_FRAMES = 500
/** 64 MB: log an error when a log of this size cannot be emptied. */
const STUCK_FRAMES = 16_384
/** End an idle worker, which uses several megabytes. */
const IDLE_MS = 60_000
/** How long commits run checkpoints after the worker failed. */
const PAUSE_MS = 30_000
/** SQLite's default. */
const DEFAULT_AUTOCHECKPOINT = 1000

/** The executable embeds the worker under its path from `src`, as listed in `scripts/build.ts`. */
const WORKER = Bun.isStandaloneExecutable
  ? './db/wal/checkpoint-worker.ts'
  : new URL('./checkpoint-worker.ts', import.meta.url).href

/** `quietMs` is the time without writes before the last frames are copied. */
type CheckpointDeps = {
  sqlite: Database.Database
  file: string
  log: Log
  quietMs?: number
  /** Pause after a failure. */
  pauseMs?: number
}

/** `isStuck`: a long-running reader prevents emptying the log, which grows. */
type WalState = { bytes: number; isStuck: boolean }
type Checkpoints = { state(): WalState; stop(): Promise<void> }

/**
 * Runs checkpoints in a worker, so no commit waits for the disk because the log is full. Disables SQLite's automatic
 * checkpoints until stopped. Logs an error when a reader keeps the log from being emptied.
 */
export function startCheckpoints(deps: CheckpointDeps): Checkpoints {
  return new Checkpointer(deps)
}

class Checkpointer implements Checkpoints {
  readonly #sqlite: Database.Database
  readonly #file: string
  readonly #log: Log
  readonly #quietMs: number
  readonly #pauseMs: number
  #timer: Timer | undefined
  readonly #readProgress: () => ReturnType<typeof checkpoint>
  #worker: Worker | null = null
  #underWay: Promise<void> = Promise.resolve()
  #isUnderWay = false
  #frames = 0
  #grewAtMs = performance.now()
  #isStuck = false
  #hasFailed = false
  #resumesAtMs = 0

  constructor({ sqlite, file, log, quietMs = QUIET_MS, pauseMs = PAUSE_MS }: CheckpointDeps) {
    this.#sqlite = sqlite
    this.#file = file
    this.#log = log
    this.#quietMs = quietMs
    this.#pauseMs = pauseMs
    this.#readProgress = prepareProgress(sqlite)
    sqlite.pragma('wal_autocheckpoint = 0')
    this.#copyFirst()
    this.#plan(LOOK_MS)
  }

  /** Frames of the start, such as those of migrations, would start the worker, whose memory is not returned at its end. */
  #copyFirst(): void {
    try {
      checkpoint(this.#sqlite, 'PASSIVE')
    } catch (error) {
      this.#leaveToCommits(error)
    }
  }

  #plan(ms: number): void {
    this.#timer = setTimeout(() => {
      const hadFrames = this.#frames
      this.#lookAgain()
      this.#plan(this.#frames === hadFrames ? toWholeSecond(SILENT_LOOK_MS) : LOOK_MS)
    }, ms)
    this.#timer.unref()
  }

  state(): WalState {
    return { bytes: this.#frames * PAGE_BYTES, isStuck: this.#isStuck }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#underWay
    await this.#endWorker().catch((error: unknown) => this.#leaveToCommits(error))
    this.#sqlite.pragma(`wal_autocheckpoint = ${DEFAULT_AUTOCHECKPOINT}`)
  }

  #lookAgain(): void {
    if (this.#isUnderWay || performance.now() < this.#resumesAtMs) return
    try {
      this.#look()
    } catch (error) {
      this.#leaveToCommits(error)
    }
  }

  #look(): void {
    const { frames, copied } = this.#readProgress()
    if (frames !== this.#frames) this.#grewAtMs = performance.now()
    this.#frames = frames
    const silentMs = performance.now() - this.#grewAtMs
    if (frames - copied >= MIN_FRAMES) this.#run(this.#copy())
    else if (frames > copied && silentMs >= this.#quietMs) checkpoint(this.#sqlite, 'PASSIVE')
    else if (silentMs >= IDLE_MS) this.#run(this.#endWorker())
  }

  #run(work: Promise<void>): void {
    this.#isUnderWay = true
    this.#underWay = work
      .catch((error: unknown) => this.#leaveToCommits(error))
      .finally(() => {
        this.#isUnderWay = false
      })
  }

  async #copy(): Promise<void> {
    const reply = await this.#ask('checkpoint')
    if ('error' in reply) throw new Error(reply.error)
    this.#takeOver()
    this.#frames = reply.frames
    if (reply.frames >= RESTART_FRAMES) this.#beginAnew(reply.copied)
    this.#noteStuck(reply.frames - reply.copied >= STUCK_FRAMES, reply.frames)
  }

  /** Copies the frames written since the worker started; does not wait for readers. */
  #beginAnew(copied: number): void {
    if (this.#readProgress().frames - copied > MAX_REST_FRAMES) return
    this.#sqlite.pragma('busy_timeout = 0')
    try {
      checkpoint(this.#sqlite, 'TRUNCATE')
    } finally {
      this.#sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }

  #noteStuck(isStuck: boolean, frames: number): void {
    if (isStuck === this.#isStuck) return
    this.#isStuck = isStuck
    const megabytes = Math.round((frames * PAGE_BYTES) / 1024 / 1024)
    if (isStuck)
      this.#log.error({ megabytes }, 'somebody reads the database for so long that its log cannot be emptied and grows')
    else this.#log.info({ megabytes }, 'the log of the database can be emptied again')
  }

  /** Falls back to checkpoints by commits, for example while the disk is full. */
  #leaveToCommits(error: unknown): void {
    this.#worker?.terminate()
    this.#worker = null
    this.#resumesAtMs = performance.now() + this.#pauseMs
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#sqlite.pragma(`wal_autocheckpoint = ${DEFAULT_AUTOCHECKPOINT}`)
    this.#log.error({ error: errorMessage(error) }, 'the log of the database is emptied by commits for now')
  }

  #takeOver(): void {
    if (!this.#hasFailed) return
    this.#hasFailed = false
    this.#sqlite.pragma('wal_autocheckpoint = 0')
    this.#log.info('the log of the database is emptied beside the commits again')
  }

  #ask(wanted: CheckpointRequest['wanted']): Promise<CheckpointReply> {
    const worker = this.#worker ?? startWorker(WORKER)
    this.#worker = worker
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<CheckpointReply>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage({ file: this.#file, wanted } satisfies CheckpointRequest)
    })
  }

  /** Closes the file before the thread ends. */
  async #endWorker(): Promise<void> {
    if (!this.#worker) return
    await this.#ask('close')
    this.#worker.terminate()
    this.#worker = null
  }
}
