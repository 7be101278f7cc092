import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { PlatformCall } from '../platform-call.ts'
import { syncFolder, systemCode, writeAtomically } from '../state/files.ts'

/** A line of a conversation on a messenger, or the end of the turn that answered one, as the platform takes them. */
export type HistoryEntry =
  | {
      type: 'message'
      id: string
      platform: string
      session: string
      title: string | null
      sender: 'user' | 'agent'
      author: string | null
      text: string
      status: 'sent' | 'stopped' | 'failed'
      at: string
    }
  | {
      type: 'answer'
      question: string
      text: string
      status: 'sent' | 'stopped' | 'failed'
      error: { kind: string; message: string } | null
      model: string | null
      inputTokens: number | null
      outputTokens: number | null
      generationIds: string[]
      endedBy: 'loop' | 'cost' | 'steps' | null
      restarts: number
      toolCalls: {
        name: string
        arguments: string
        result: string
        success: boolean
        durationMs: number
        offset: number
      }[]
      at: string
    }

/** The way of what is said on messengers into the history that the platform keeps. */
export type ChannelHistory = {
  /** Keeps an entry on disk until the platform has it. */
  add(entry: HistoryEntry): Promise<void>
  /** Resolves when the platform has everything, or cannot be reached now. */
  settle(): Promise<void>
}

const Stored = z.object({ stored: z.number() })

const MAX_BATCH = 50
const MAX_BATCH_BYTES = 1024 * 1024
/** The platform takes no longer text. */
const MAX_TEXT_CHARS = 400_000
/** A platform that is away for longer than that many entries loses the oldest of them. */
const MAX_KEPT = 10_000
const PAUSES_MS = { first: 1000, longest: 60_000 }

type HistoryDeps = { call: PlatformCall; log: Log; stopping: AbortSignal }

/** One file for each entry in `folder`, removed when the platform has acknowledged it; the platform ignores repetitions. */
export async function openChannelHistory(folder: string, deps: HistoryDeps): Promise<ChannelHistory> {
  const found = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  const names = found.filter((name) => name.endsWith('.json')).sort()
  const outbox = new HistoryOutbox(folder, deps, names)
  void outbox.send()
  return { add: (entry) => outbox.add(entry), settle: () => outbox.settle() }
}

class HistoryOutbox {
  readonly #folder: string
  readonly #deps: HistoryDeps
  /** Files that wait, the oldest first. */
  readonly #names: string[]
  #last: number
  #sending: Promise<void> | null = null
  #timer: Timer | undefined
  #pauseMs = PAUSES_MS.first
  #batchSize = MAX_BATCH

  constructor(folder: string, deps: HistoryDeps, names: string[]) {
    this.#folder = folder
    this.#deps = deps
    this.#names = names
    this.#last = Number.parseInt(names.at(-1) ?? '0', 10)
  }

  async add(entry: HistoryEntry): Promise<void> {
    this.#last += 1
    const name = `${String(this.#last).padStart(15, '0')}.json`
    const content = JSON.stringify({ ...entry, text: entry.text.slice(0, MAX_TEXT_CHARS).toWellFormed() })
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await writeAtomically(join(this.#folder, name), content)
    this.#names.push(name)
    if (this.#names.length > MAX_KEPT) {
      this.#deps.log.warn(
        { kept: MAX_KEPT },
        'the platform has been away for too long: the oldest message is left out of the history',
      )
      await this.#remove(this.#names.slice(0, 1))
    }
    void this.send()
  }

  async settle(): Promise<void> {
    while (this.#names.length > 0) {
      const before = this.#names.length
      await this.send()
      if (this.#names.length >= before) return
    }
  }

  /** Sends what waits, one attempt at a time. Never rejects: what could not be sent is tried again later. */
  send(): Promise<void> {
    clearTimeout(this.#timer)
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
    })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    const { log, stopping } = this.#deps
    try {
      while (this.#names.length > 0) await this.#sendBatch()
      this.#pauseMs = PAUSES_MS.first
    } catch (error) {
      log.warn(
        { error: errorMessage(error), waiting: this.#names.length },
        'what was said on channels is reported later',
      )
      if (stopping.aborted) return
      this.#timer = setTimeout(() => void this.send(), this.#pauseMs)
      this.#timer.unref()
      this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSES_MS.longest)
    }
  }

  async #sendBatch(): Promise<void> {
    const names = this.#names.slice(0, this.#batchSize)
    const entries = await readBatch(this.#folder, names)
    const sent = names.slice(0, entries.length)
    try {
      await this.#deps.call(Stored, { path: '/v1/channel-messages', method: 'POST', body: { entries } })
      await this.#remove(sent)
      this.#batchSize = MAX_BATCH
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'invalid') throw error
      if (sent.length > 1) {
        this.#batchSize = 1
        return
      }
      this.#deps.log.error(
        { error: error.message },
        'the platform refuses a message of a channel; it is left out of the history',
      )
      await this.#remove(sent)
    }
  }

  async #remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const index = this.#names.indexOf(name)
      if (index !== -1) this.#names.splice(index, 1)
      await rm(join(this.#folder, name), { force: true })
    }
    await syncFolder(this.#folder)
  }
}

/** The entries of these files, as many as fit into a request. */
async function readBatch(folder: string, names: readonly string[]): Promise<unknown[]> {
  const entries: unknown[] = []
  let sizeBytes = 0
  for (const name of names) {
    const text = await readFile(join(folder, name), 'utf8')
    sizeBytes += Buffer.byteLength(text)
    if (entries.length > 0 && sizeBytes > MAX_BATCH_BYTES) break
    entries.push(JSON.parse(text))
  }
  return entries
}

/** For an agent that runs elsewhere with its owner's key: no platform keeps a history of it. */
export const NO_HISTORY: ChannelHistory = { add: async () => undefined, settle: async () => undefined }
