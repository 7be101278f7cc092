import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { CollectedTurn, TurnFigures } from '../../core/agents/collect-turn.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import type { Log } from '../../core/log.ts'
import { sha256 } from '../../core/secrets.ts'
import type { PlatformCall } from '../platform.ts'
import { exists, syncFolder, writeAtomically } from '../state/files.ts'
import type { SessionStore } from '../state/sessions.ts'
import type { TurnResult } from '../turns/turn.ts'

/** A message of a channel, or the outcome of the turn that answered one, in the platform's format. */
type HistoryEntry =
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
  | (TurnFigures & {
      type: 'answer'
      question: string
      text: string
      status: 'sent' | 'stopped' | 'failed'
      error: { kind: string; message: string } | null
      at: string
    })

/** Reports channel conversations to the platform's history. */
export type ChannelHistory = {
  /** Stores an entry on disk until the platform has acknowledged it. */
  add(entry: HistoryEntry): Promise<void>
  /** Resolves when the platform has all entries or is unreachable. */
  settle(): Promise<void>
}

const Stored = z.object({ stored: z.number() })

const MAX_BATCH = 50
const MAX_BATCH_BYTES = 1024 * 1024
/** The platform rejects longer texts. */
const MAX_TEXT_CHARS = 400_000
/** The oldest entries are dropped when the platform is away for longer. */
const MAX_KEPT = 10_000
const PAUSES_MS = { first: 1000, longest: 60_000 }

/**
 * Opens the outbox: one file per entry in `folder`, removed after the platform's acknowledgement. The platform ignores
 * duplicates.
 */
export async function openChannelHistory(
  folder: string,
  deps: { call: PlatformCall; log: Log; stopping: AbortSignal },
): Promise<ChannelHistory> {
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
  readonly #deps: { call: PlatformCall; log: Log; stopping: AbortSignal }
  /** Pending files, oldest first. */
  readonly #names: string[]
  #last: number
  #sending: Promise<void> | null = null
  #timer: Timer | undefined
  #pauseMs = PAUSES_MS.first
  #batchSize = MAX_BATCH

  constructor(folder: string, deps: { call: PlatformCall; log: Log; stopping: AbortSignal }, names: string[]) {
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
        'the platform has been unreachable for too long: dropped the oldest entry of the channel history',
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

  /** Sends pending entries, one attempt at a time. Never rejects: failed entries are retried later. */
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
        'failed to report channel history; retrying later',
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
        'the platform rejected an entry of the channel history; it is left out',
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

/** For an agent that uses its owner's API key: the platform keeps no history of it. */
export const NO_HISTORY: ChannelHistory = { add: async () => undefined, settle: async () => undefined }

/** `result` is null for a turn without a complete answer; `at` is ISO 8601. */
export type AnswerEnd = { result: TurnResult | null; at: string } & Pick<AnswerEntry, 'status' | 'error'>
type AnswerEntry = Extract<HistoryEntry, { type: 'answer' }>

/** Returns the entry of the turn that answered the message `question`. */
export function toAnswerEntry(question: string, collected: CollectedTurn, { result, ...end }: AnswerEnd): AnswerEntry {
  return {
    type: 'answer',
    question,
    text: collected.text(),
    ...collected.figures(),
    model: result?.model ?? null,
    inputTokens: result?.usage?.inputTokens ?? null,
    outputTokens: result?.usage?.outputTokens ?? null,
    ...end,
  }
}

const CHANNEL = /^(telegram|discord|slack):/

/**
 * Reports existing channel sessions to the platform's history, once; the file `mark` records that. Agents that never
 * had a messenger have no folder for it.
 */
export async function handOverSessions(
  { mark, hasChannels }: { mark: string; hasChannels: boolean },
  sessions: SessionStore,
  history: ChannelHistory,
): Promise<void> {
  if (!hasChannels && !(await exists(dirname(mark)))) return
  if (await exists(mark)) return
  for (const { key } of (await sessions.list()).toReversed()) {
    const platform = CHANNEL.exec(key)?.[1]
    const items = platform === undefined ? null : await sessions.readLast(key, () => false)
    for (const [index, item] of (items ?? []).entries()) {
      if (platform === undefined || item.role === 'summary') continue
      await history.add({
        type: 'message',
        id: `${sha256(key).slice(0, 24)}-${index}`,
        platform,
        session: key,
        title: null,
        sender: item.role === 'user' ? 'user' : 'agent',
        author: null,
        text: item.content,
        status: 'sent',
        at: item.timestamp,
      })
    }
  }
  await mkdir(dirname(mark), { recursive: true, mode: 0o700 })
  await writeAtomically(mark, '')
}
