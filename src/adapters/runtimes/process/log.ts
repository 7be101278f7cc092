import { statSync, truncateSync } from 'node:fs'
import { appendFile, open, rename, rm, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { TaskQueue, withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import { randomText } from '../../../core/ids.ts'
import type { RuntimeLogLine } from '../contract/runtime.ts'
import { type AgentFolder, errorCode, readIfExists, writeFileAtomically } from './files.ts'

/** Maximum bytes read from the end of a log. */
const MAX_READ_BYTES = 4 * 1024 * 1024
/** Bytes read per step when following. */
const CHUNK_BYTES = 32 * 1024
/** A longer line is split. */
const MAX_LINE_BYTES = 16 * 1024
const NEWLINE = 10

/**
 * Positions of the two files in the agent's whole output: the older file begins at byte `olderStart`, the newer one
 * after it.
 * `id` changes when the agent is removed. While the newer file is being truncated, `cutBytes` is its former size and
 * `startBefore` its former position.
 */
const LogRecord = z.object({
  id: z.string(),
  olderStart: z.int().min(0),
  cut: z.object({ cutBytes: z.int().min(0), startBefore: z.int().min(0) }).nullable(),
})
type LogRecord = z.infer<typeof LogRecord>
type LogPlace = { id: string; olderStart: number; start: number }

/** A line and the cursor after it. */
type PlacedLine = { text: string; cursor: string }

/**
 * An agent's output: `agent.log`, and `agent.log.1` with the older output. Both streams share the files, which keeps
 * their order. Operations are serialized, so that no file is read while it is truncated.
 */
export class ProcessLog {
  readonly #folder: AgentFolder
  readonly #queue = new TaskQueue()
  #place: LogPlace | null = null

  constructor(folder: AgentFolder) {
    this.#folder = folder
  }

  /** Terminates the last line, and rotates a log larger than `maxBytes`. The agent must have no process. */
  prepare(maxBytes: number): Promise<void> {
    return this.#queue.run(async () => {
      const { log, olderLog } = this.#folder
      await this.#endLastLine()
      const sizeBytes = await sizeOf(log)
      if (sizeBytes <= maxBytes) return
      // A live agent would keep writing to the moved file.
      await this.#moveStart(sizeBytes, sizeBytes, () => rename(log, olderLog))
    })
  }

  /**
   * Rotates the log of a live agent, which keeps its file handle: copies the end and truncates the file. Only output
   * between two
   * system calls is lost.
   */
  cut(maxBytes: number): Promise<void> {
    return this.#queue.run(async () => {
      const { log, olderLog } = this.#folder
      const sizeBytes = await sizeOf(log)
      if (sizeBytes <= maxBytes) return
      const copy = `${olderLog}.new`
      const end = await readEnd(log, maxBytes, sizeBytes)
      await Bun.write(copy, end, { mode: 0o600 })
      await this.#moveStart(sizeBytes, end.length, async () => {
        await rename(copy, olderLog)
        await emptyAfterCopy(log, olderLog, sizeBytes)
      })
    })
  }

  /** Terminates the last line of an agent that died within it. */
  endLine(): Promise<void> {
    return this.#queue.run(() => this.#endLastLine())
  }

  /** Returns the last `tail` lines of both files, oldest first. */
  readLast(tail: number): Promise<string[]> {
    return this.#queue.run(async () => {
      if (tail <= 0) return []
      const { log, olderLog } = this.#folder
      const lines = toLines(await readEnd(log, MAX_READ_BYTES, await sizeOf(log)))
      if (lines.length >= tail) return lines.slice(-tail)
      const older = toLines(await readEnd(olderLog, MAX_READ_BYTES, await sizeOf(olderLog)))
      return [...older, ...lines].slice(-tail)
    })
  }

  /**
   * Reads some lines after `cursor`, from the oldest when it is null or of a removed agent. `id` identifies the log,
   * `skippedBytes` counts overwritten output, and `startCursor` is the position after them.
   */
  readAfter(
    cursor: string | null,
  ): Promise<{ id: string; lines: PlacedLine[]; skippedBytes: number; startCursor: string }> {
    return this.#queue.run(async () => {
      const place = await this.#getPlace()
      const { id } = place
      const wanted = cursor === null ? null : offsetIn(cursor, id)
      const end = place.start + (await sizeOf(this.#folder.log))
      const from = wanted === null || wanted > end ? place.olderStart : Math.max(wanted, place.olderStart)
      const lines = toPlacedLines(await this.#readAt(place, from), from, id)
      const skippedBytes = wanted === null ? 0 : Math.max(0, from - wanted)
      return { id, lines, skippedBytes, startCursor: toCursor(id, from) }
    })
  }

  /** Must be called when the agent's folder was removed. */
  forget(): Promise<void> {
    return this.#queue.run(async () => {
      this.#place = null
    })
  }

  async #endLastLine(): Promise<void> {
    const { log } = this.#folder
    const sizeBytes = await sizeOf(log)
    if (sizeBytes === 0) return
    const [last] = await readRange(log, sizeBytes - 1, 1)
    if (last !== NEWLINE) await appendFile(log, '\n')
  }

  /** Reads from byte `offset` of the whole output, across both files. */
  async #readAt(place: LogPlace, offset: number): Promise<Uint8Array> {
    const { log, olderLog } = this.#folder
    if (offset >= place.start) return readRange(log, offset - place.start, CHUNK_BYTES)
    const older = await readRange(olderLog, offset - place.olderStart, Math.min(CHUNK_BYTES, place.start - offset))
    if (offset + older.length < place.start) return older
    return Buffer.concat([older, await readRange(log, 0, CHUNK_BYTES)])
  }

  /**
   * Records that `cutBytes` of the newer file move to the older one, which keeps the last `keptBytes`, around `move`.
   */
  async #moveStart(cutBytes: number, keptBytes: number, move: () => Promise<void>): Promise<void> {
    const { id, start } = await this.#getPlace()
    const olderStart = start + cutBytes - keptBytes
    await this.#record({ id, olderStart, cut: { cutBytes, startBefore: start } })
    await move()
    await this.#record({ id, olderStart, cut: null })
  }

  async #getPlace(): Promise<LogPlace> {
    if (this.#place) return this.#place
    const { log, olderLog, logPlace } = this.#folder
    const text = await readIfExists(logPlace)
    const record = text === null ? { id: randomText(8), olderStart: 0, cut: null } : LogRecord.parse(JSON.parse(text))
    if (record.cut && (await sizeOf(log)) >= record.cut.cutBytes) {
      // A crash before the truncation: the older file may repeat the newer one.
      await rm(olderLog, { force: true })
      record.olderStart = record.cut.startBefore
    }
    return this.#record({ ...record, cut: null })
  }

  async #record(record: LogRecord): Promise<LogPlace> {
    await writeFileAtomically(this.#folder.logPlace, JSON.stringify(record))
    const { id, olderStart } = record
    this.#place = { id, olderStart, start: olderStart + (await sizeOf(this.#folder.olderLog)) }
    return this.#place
  }
}

/** More rounds are only needed for a flood of output, which loses some lines. */
const COPY_ROUNDS = 20

/** Appends the part of `log` after `copiedBytes` to `older`, then truncates `log`. */
async function emptyAfterCopy(log: string, older: string, copiedBytes: number): Promise<void> {
  let copied = copiedBytes
  for (let round = 0; round < COPY_ROUNDS && statSync(log).size > copied; round += 1) {
    const rest = await readRange(log, copied, MAX_READ_BYTES)
    await appendFile(older, rest)
    copied += rest.length
  }
  truncateSync(log, 0)
}

function toCursor(id: string, offset: number): string {
  return `${id}.${offset}`
}

/** Returns null for a cursor of another log. */
function offsetIn(cursor: string, id: string): number | null {
  const [cursorId, offset] = cursor.split('.')
  return cursorId === id && offset !== undefined && /^\d{1,15}$/.test(offset) ? Number(offset) : null
}

/** Splits `bytes`, which begin at `start`, into lines, and splits lines that are too long. */
function toPlacedLines(bytes: Uint8Array, start: number, id: string): PlacedLine[] {
  const decoder = new TextDecoder()
  const lines: PlacedLine[] = []
  const add = (from: number, to: number, next: number) =>
    lines.push({
      text: decoder.decode(bytes.subarray(from, to)).replace(/\r$/, ''),
      cursor: toCursor(id, start + next),
    })
  let from = 0
  while (from < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, from)
    const to = newline === -1 ? bytes.length : newline
    if (to - from > MAX_LINE_BYTES) {
      const part = characterStart(bytes, from + MAX_LINE_BYTES)
      add(from, part, part)
      from = part
    } else if (newline === -1) {
      break
    } else {
      add(from, to, to + 1)
      from = to + 1
    }
  }
  return lines
}

/** Returns the start of the UTF-8 character at or before `at`. */
function characterStart(bytes: Uint8Array, at: number): number {
  let start = at
  while (start > at - 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return start
}

function toLines(bytes: Uint8Array): string[] {
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** Reads the last `maxBytes` of the first `sizeBytes` of a file, from a whole line; empty without a file. */
async function readEnd(path: string, maxBytes: number, sizeBytes: number): Promise<Uint8Array> {
  const start = Math.max(0, sizeBytes - maxBytes)
  const bytes = await readRange(path, start, sizeBytes - start)
  return start === 0 ? bytes : bytes.subarray(bytes.indexOf(NEWLINE) + 1)
}

/** Reads at most `length` bytes from `start`; empty beyond the end and without a file. */
async function readRange(path: string, start: number, length: number): Promise<Uint8Array> {
  if (length === 0 || (await sizeOf(path)) <= start) return new Uint8Array()
  const file = await open(path, 'r')
  try {
    const buffer = new Uint8Array(length)
    const { bytesRead } = await file.read(buffer, 0, length, start)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0
    throw error
  }
}

/** `isOver` returns whether the agent was removed or the runtime closed. */
type FollowOptions = {
  after: string | null
  signal: AbortSignal
  isOver: () => boolean
  clock: Clock
  pollMs: number
}

/**
 * Yields the lines after a cursor and new ones. Lines have no time, so `at` is the time of reading; both streams share
 * a file and are reported as `stdout`. Overwritten output is reported in bytes.
 */
export async function* followLog(log: ProcessLog, options: FollowOptions): AsyncGenerator<RuntimeLogLine, void> {
  const { signal, isOver, clock, pollMs } = options
  let cursor = options.after
  let logId: string | null = null
  while (!signal.aborted) {
    const found = await read(log, cursor, isOver)
    // Another log id means a new agent of the same name.
    if (!found || (logId !== null && found.id !== logId)) return
    logId = found.id
    const at = clock.now()
    if (found.skippedBytes > 0) {
      const text = `[${found.skippedBytes} bytes were overwritten before they could be read]`
      yield { cursor: found.startCursor, at, stream: 'stderr', text }
    }
    for (const line of found.lines) {
      yield { cursor: line.cursor, at, stream: 'stdout', text: line.text }
      cursor = line.cursor
    }
    if (found.lines.length === 0) await sleep(pollMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Returns null when there is nothing left to follow. */
async function read(log: ProcessLog, cursor: string | null, isOver: () => boolean) {
  try {
    return isOver() ? null : await withAppErrors(() => log.readAfter(cursor))
  } catch (error) {
    // The folder was removed during the read.
    if (isOver()) return null
    throw error
  }
}
