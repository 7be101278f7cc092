import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Log } from '../../core/log.ts'
import { sha256 } from '../../core/secrets.ts'
import { appendLine, exists, readFirstLine, readLastLines, syncFolder, writeAtomically } from './files.ts'

const StoredMessage = z.object({
  role: z.enum(['user', 'assistant']),
  content: z.string(),
  timestamp: z.string(),
  /** Workspace paths of images sent with the message. */
  images: z.array(z.string()).optional(),
})
const HeaderLine = z.object({ key: z.string(), createdAt: z.string() })
/** `messageCount` counts the whole session, so that the last line gives its length. */
const TurnLine = z.object({ messageCount: z.number(), messages: z.array(StoredMessage) })

/**
 * A line after the turn that preceded the summary. It covers the first `coveredCount` messages, except the oldest
 * `leftOutCount`.
 */
const HistorySummary = z.object({
  summary: z.string(),
  coveredCount: z.number(),
  leftOutCount: z.number(),
  timestamp: z.string(),
})

/** `timestamp` is ISO 8601. */
type StoredMessage = z.infer<typeof StoredMessage>
export type HistorySummary = z.infer<typeof HistorySummary>
/** A summary follows the message after which it was made. */
type HistoryItem = StoredMessage | { role: 'summary'; content: string; coveredCount: number; timestamp: string }
/** The latest summary and the messages after those it covers; `messageCount` is that of the whole session. */
export type RecentPast = {
  summary: HistorySummary | null
  messages: Pick<StoredMessage, 'role' | 'content' | 'images'>[]
  messageCount: number
}
type SessionInfo = { key: string; messageCount: number; createdAt: string; lastActivity: string }

/** Stored conversations of an agent. Calls for one key must not overlap; `TurnQueue` serializes them. */
export type SessionStore = {
  list(): Promise<SessionInfo[]>
  count(): Promise<number>
  /** Returns the last messages and summaries until `isEnough`, oldest first; null without the session. */
  readLast(key: string, isEnough: (messages: StoredMessage[]) => boolean): Promise<HistoryItem[] | null>
  /** Returns the messages for a model request until `isEnough`; null without the session. */
  readRecent(key: string, isEnough: (messages: StoredMessage[]) => boolean): Promise<RecentPast | null>
  /** Stores a summary, on disk when it resolves. */
  appendSummary(key: string, summary: HistorySummary): Promise<void>
  /** Stores a whole turn, on disk when it resolves; creates the session with its first turn. */
  append(key: string, messages: StoredMessage[]): Promise<void>
  /** @returns whether the session existed. */
  remove(key: string): Promise<boolean>
  removeAll(): Promise<void>
}

/**
 * Keeps one file per session in `folder`: a header line, then one line per turn, so that a turn is stored completely or
 * not at all.
 */
export function createSessionStore(folder: string, log: Log): SessionStore {
  const fileOf = (key: string) => join(folder, `${sha256(key)}.jsonl`)
  const readEntries = async (path: string, isEnough: (entries: Entry[]) => boolean) => {
    const toEntries = (lines: string[]) => lines.flatMap((line) => parseLine(Entry, line) ?? [])
    const lines = await readLastLines(path, (some) => isEnough(toEntries(some)))
    if (!lines) return null
    const entries = toEntries(lines)
    const strangeCount = lines.length - entries.length - lines.filter((line) => parseLine(HeaderLine, line)).length
    if (strangeCount > 0) log.warn({ path, strangeCount }, 'skipped damaged lines of a session file')
    return entries
  }
  const readLastTurn = async (path: string) =>
    turnsOf((await readEntries(path, (entries) => turnsOf(entries).length > 0)) ?? []).at(-1)
  const listFiles = async () => (await readdir(folder)).filter((name) => name.endsWith('.jsonl'))

  return {
    async list() {
      const infos: SessionInfo[] = []
      for (const name of await listFiles()) {
        const path = join(folder, name)
        const header = parseLine(HeaderLine, await readFirstLine(path))
        if (!header) continue
        const last = await readLastTurn(path)
        const lastActivity = last?.messages.at(-1)?.timestamp ?? header.createdAt
        infos.push({ ...header, messageCount: last?.messageCount ?? 0, lastActivity })
      }
      return infos.sort((a, b) => b.lastActivity.localeCompare(a.lastActivity))
    },
    async count() {
      return (await listFiles()).length
    },
    async readLast(key, isEnough) {
      const entries = await readEntries(fileOf(key), (some) => isEnough(messagesOf(some)))
      return entries?.flatMap((entry) => ('messages' in entry ? entry.messages : toHistoryItem(entry))) ?? null
    },
    async readRecent(key, isEnough) {
      const entries = await readEntries(fileOf(key), (some) => {
        const first = turnsOf(some)[0]
        const covered = findSummary(some)?.coveredCount
        const reachesSummary = first && covered !== undefined && first.messageCount - first.messages.length <= covered
        return reachesSummary || isEnough(messagesOf(some))
      })
      return entries && toRecentPast(entries)
    },
    appendSummary: (key, summary) => appendLine(fileOf(key), JSON.stringify(summary)),
    async append(key, messages) {
      const path = fileOf(key)
      if (!(await exists(path))) {
        const header = { key, createdAt: messages[0]?.timestamp ?? '' }
        const turn = { messageCount: messages.length, messages }
        await writeAtomically(path, `${JSON.stringify(header)}\n${JSON.stringify(turn)}\n`)
        return
      }
      const earlierCount = (await readLastTurn(path))?.messageCount ?? 0
      await appendLine(path, JSON.stringify({ messageCount: earlierCount + messages.length, messages }))
    },
    async remove(key) {
      const path = fileOf(key)
      if (!(await exists(path))) return false
      await rm(path)
      await syncFolder(folder)
      return true
    },
    async removeAll() {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { recursive: true })
      await syncFolder(folder)
    },
  }
}

const Entry = z.union([TurnLine, HistorySummary])
type Entry = z.infer<typeof Entry>

function turnsOf(entries: Entry[]) {
  return entries.flatMap((entry) => ('messages' in entry ? entry : []))
}

function messagesOf(entries: Entry[]): StoredMessage[] {
  return turnsOf(entries).flatMap((turn) => turn.messages)
}

function findSummary(entries: Entry[]): HistorySummary | null {
  return entries.flatMap((entry) => ('summary' in entry ? entry : [])).at(-1) ?? null
}

function toRecentPast(entries: Entry[]): RecentPast {
  const summary = findSummary(entries)
  const messageCount = turnsOf(entries).at(-1)?.messageCount ?? 0
  const behind = messageCount - (summary?.coveredCount ?? 0)
  // Damaged lines were skipped, so there may be fewer messages than `behind`.
  const messages = behind > 0 ? messagesOf(entries).slice(-behind) : []
  return { summary, messages, messageCount }
}

function toHistoryItem({ summary, coveredCount, timestamp }: HistorySummary): HistoryItem {
  return { role: 'summary', content: summary, coveredCount, timestamp }
}

/** Returns null for a damaged line and for another kind of line. */
function parseLine<Schema extends z.ZodType>(schema: Schema, line: string | null): z.infer<Schema> | null {
  if (line === null) return null
  try {
    return schema.safeParse(JSON.parse(line)).data ?? null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
