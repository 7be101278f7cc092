import { access, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Log } from '../../core/log.ts'
import { sha256 } from '../../core/secrets.ts'
import { appendLine, readFirstLine, readLastLines, syncFolder, systemCode, writeAtomically } from './files.ts'

const StoredMessage = z.object({
  role: z.enum(['user', 'assistant']),
  content: z.string(),
  timestamp: z.string(),
  /** Pictures that came with it, as paths in the workspace. */
  images: z.array(z.string()).optional(),
})
const HeaderLine = z.object({ key: z.string(), createdAt: z.string() })
/** `messageCount` counts the whole session, so that the last line alone tells its length. */
const TurnLine = z.object({ messageCount: z.number(), messages: z.array(StoredMessage) })

/**
 * A line of its own behind the turn before which it was made. Of the first `coveredCount` messages it is the summary; the
 * oldest `leftOutCount` of them are not part of it.
 */
const Summary = z.object({
  summary: z.string(),
  coveredCount: z.number(),
  leftOutCount: z.number(),
  timestamp: z.string(),
})

/** One message of a session; `timestamp` is ISO 8601. */
export type StoredMessage = z.infer<typeof StoredMessage>
export type Summary = z.infer<typeof Summary>
/** A summary stands in the history as what it is, behind the message after which it was made. */
export type HistoryItem = StoredMessage | { role: 'summary'; content: string; coveredCount: number; timestamp: string }
/** The latest summary and the messages behind those that it covers; `messageCount` is that of the whole session. */
export type RecentPast = {
  summary: Summary | null
  messages: Pick<StoredMessage, 'role' | 'content' | 'images'>[]
  messageCount: number
}
export type SessionInfo = { key: string; messageCount: number; createdAt: string; lastActivity: string }

/** The conversations of an agent. Calls on one key must not overlap: `turn-queue.ts` sees to that. */
export type Sessions = {
  list(): Promise<SessionInfo[]>
  count(): Promise<number>
  /** The last messages, and summaries among them, until `isEnough`, oldest first; null when there is no such session. */
  readLast(key: string, isEnough: (messages: StoredMessage[]) => boolean): Promise<HistoryItem[] | null>
  /** What is to be shown to a model, until `isEnough`; null when there is no such session. */
  readRecent(key: string, isEnough: (messages: StoredMessage[]) => boolean): Promise<RecentPast | null>
  /** Keeps what the beginning of a session came down to, on disk when it returns. */
  appendSummary(key: string, summary: Summary): Promise<void>
  /** Adds a whole turn, on disk when it returns; creates the session with its first. */
  append(key: string, messages: StoredMessage[]): Promise<void>
  /** @returns whether there was one. */
  remove(key: string): Promise<boolean>
  removeAll(): Promise<void>
}

/** One file a session in `folder`: a line that names it, then a line a turn, so a turn is kept whole or not at all. */
export function createSessions(folder: string, log: Log): Sessions {
  const fileOf = (key: string) => join(folder, `${sha256(key)}.jsonl`)
  const readEntries = async (path: string, isEnough: (entries: Entry[]) => boolean) => {
    const toEntries = (lines: string[]) => lines.flatMap((line) => parseLine(Entry, line) ?? [])
    const lines = await readLastLines(path, (some) => isEnough(toEntries(some)))
    if (!lines) return null
    const entries = toEntries(lines)
    const strangeCount = lines.length - entries.length - lines.filter((line) => parseLine(HeaderLine, line)).length
    if (strangeCount > 0)
      log.warn({ path, strangeCount }, 'session file has lines that cannot be read; they are skipped')
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

const Entry = z.union([TurnLine, Summary])
type Entry = z.infer<typeof Entry>

function turnsOf(entries: Entry[]) {
  return entries.flatMap((entry) => ('messages' in entry ? entry : []))
}

function messagesOf(entries: Entry[]): StoredMessage[] {
  return turnsOf(entries).flatMap((turn) => turn.messages)
}

function findSummary(entries: Entry[]): Summary | null {
  return entries.flatMap((entry) => ('summary' in entry ? entry : [])).at(-1) ?? null
}

function toRecentPast(entries: Entry[]): RecentPast {
  const summary = findSummary(entries)
  const messageCount = turnsOf(entries).at(-1)?.messageCount ?? 0
  const behind = messageCount - (summary?.coveredCount ?? 0)
  // A damaged line takes its messages out of the count: what is left is then all behind the summary.
  const messages = behind > 0 ? messagesOf(entries).slice(-behind) : []
  return { summary, messages, messageCount }
}

function toHistoryItem({ summary, coveredCount, timestamp }: Summary): HistoryItem {
  return { role: 'summary', content: summary, coveredCount, timestamp }
}

/** Null for a line that a crash or a disk has damaged, and for one of the other kind. */
function parseLine<Schema extends z.ZodType>(schema: Schema, line: string | null): z.infer<Schema> | null {
  if (line === null) return null
  try {
    return schema.safeParse(JSON.parse(line)).data ?? null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}
