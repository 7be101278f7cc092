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

/** One message of a session; `timestamp` is ISO 8601. */
export type StoredMessage = z.infer<typeof StoredMessage>
export type SessionInfo = { key: string; messageCount: number; createdAt: string; lastActivity: string }

/** The conversations of an agent. Calls on one key must not overlap: `turn-queue.ts` sees to that. */
export type Sessions = {
  list(): Promise<SessionInfo[]>
  count(): Promise<number>
  /** The last messages until `isEnough`, oldest first; null when there is no such session. */
  readLast(key: string, isEnough: (messages: StoredMessage[]) => boolean): Promise<StoredMessage[] | null>
  /** Adds a whole turn, on disk when it returns; creates the session with its first. */
  append(key: string, messages: StoredMessage[]): Promise<void>
  /** @returns whether there was one. */
  remove(key: string): Promise<boolean>
  removeAll(): Promise<void>
}

/** One file a session in `folder`: a line that names it, then a line a turn, so a turn is kept whole or not at all. */
export function createSessions(folder: string, log: Log): Sessions {
  const fileOf = (key: string) => join(folder, `${sha256(key)}.jsonl`)
  const readTurns = async (path: string, isEnough: (messages: StoredMessage[]) => boolean) => {
    const toTurns = (lines: string[]) => lines.flatMap((line) => parseLine(TurnLine, line) ?? [])
    const lines = await readLastLines(path, (some) => isEnough(toTurns(some).flatMap((turn) => turn.messages)))
    if (!lines) return null
    const turns = toTurns(lines)
    const strangeCount = lines.length - turns.length - lines.filter((line) => parseLine(HeaderLine, line)).length
    if (strangeCount > 0)
      log.warn({ path, strangeCount }, 'session file has lines that cannot be read; they are skipped')
    return turns
  }
  const readLastTurn = async (path: string) => (await readTurns(path, (messages) => messages.length > 0))?.at(-1)
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
      const turns = await readTurns(fileOf(key), isEnough)
      return turns?.flatMap((turn) => turn.messages) ?? null
    },
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
