import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import type { AgentEndpoint, Ask } from './http.ts'
import { type OpenClawSocket, openOpenClawSocket } from './openclaw-socket.ts'

const PAGE_SIZE = 200
const AGENT = 'main'
const MAIN_SESSION = 'agent:main:main'
const NO_WORKSPACE = 'workspace directory not found'
/** Files with the agent's knowledge. Its identity (`SOUL.md`) is not part of it. */
const LEARNT = ['MEMORY.md', 'USER.md', 'DREAMS.md']
const DIARY_FOLDER = 'memory'
/** Files that can be written before the first conversation. */
const WRITABLE = ['MEMORY.md', 'USER.md']
/** Only the newest days of a long diary are read. */
const MAX_NOTES = 100

const Sessions = z.object({ sessions: listOf(z.object({ key: z.string(), isMain: z.boolean().optional() })) })
const Deletion = z.object({ deleted: z.boolean() })
const Entries = z.object({
  entries: listOf(z.object({ path: z.string(), kind: z.string(), updatedAtMs: z.number().default(0) })),
  totalEntries: z.number(),
})
type Entry = z.infer<typeof Entries>['entries'][number]
const Note = z.object({ file: z.object({ content: z.string() }) })
const File = z.object({
  file: z.object({ missing: z.boolean(), size: z.number().optional(), hash: z.string().optional() }),
})
const Done = z.unknown()

/** A memory file of an agent. */
export type AgentNote = { path: string; text: string; updatedAt: Date }

/** Returns whether OpenClaw keeps memory in this file. */
export function isOpenClawNote(path: string): boolean {
  return LEARNT.includes(path) || path.startsWith(`${DIARY_FOLDER}/`)
}

/** Returns an OpenClaw agent's memory files, oldest first, without empty ones. */
export async function readOpenClawNotes(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<AgentNote[]> {
  using socket = await openOpenClawSocket(ask, endpoint, timeoutMs)
  const entries = (await listLearnt(socket)).sort((a, b) => a.updatedAtMs - b.updatedAtMs).slice(-MAX_NOTES)
  const notes: AgentNote[] = []
  for (const { path, updatedAtMs } of entries) {
    const { file } = await socket.call(Note, 'agents.workspace.get', { agentId: AGENT, path })
    if (file.content.trim() !== '') notes.push({ path, text: file.content, updatedAt: new Date(updatedAtMs) })
  }
  return notes
}

/**
 * Replaces a memory file; an empty text clears it. @throws AppError `upstream_failed` when the agent refuses, as for a
 * missing day of the diary.
 */
export async function writeOpenClawNote(
  ask: Ask,
  endpoint: AgentEndpoint,
  note: { path: string; text: string },
  timeoutMs: number,
): Promise<void> {
  using socket = await openOpenClawSocket(ask, endpoint, timeoutMs)
  if (WRITABLE.includes(note.path)) {
    await socket.call(Done, 'agents.files.set', { agentId: AGENT, name: note.path, content: note.text })
    return
  }
  const { sessions } = await socket.call(Sessions, 'sessions.list', { limit: 1 })
  await writeFile(socket, note, sessions[0]?.key ?? MAIN_SESSION)
}

/**
 * Ends every session of an OpenClaw agent and empties its memory files. Configuration, skills and working files stay.
 * The gateway updates its search index within seconds.
 */
export async function resetOpenClawMemory(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<void> {
  using socket = await openOpenClawSocket(ask, endpoint, timeoutMs)
  for (const archived of [false, true]) await deleteSessions(socket, archived)
  await socket.call(Done, 'sessions.reset', { key: MAIN_SESSION, reason: 'reset' })
  for (const { path } of await listLearnt(socket)) await writeFile(socket, { path, text: '' }, MAIN_SESSION)
}

async function deleteSessions(socket: OpenClawSocket, archived: boolean): Promise<void> {
  for (;;) {
    const { sessions } = await socket.call(Sessions, 'sessions.list', { limit: PAGE_SIZE, archived })
    // The main session can only be reset.
    const keys = sessions.filter(({ key, isMain }) => !isMain && key !== MAIN_SESSION).map(({ key }) => key)
    if (keys.length === 0) return
    for (const key of keys) {
      const { deleted } = await socket.call(Deletion, 'sessions.delete', { key, deleteTranscript: true })
      if (!deleted) throw new AppError('upstream_failed', `The agent does not let session ${key} be deleted`)
    }
  }
}

/** Lists memory files; none before the first conversation, which creates the workspace. */
async function listLearnt(socket: OpenClawSocket): Promise<Entry[]> {
  const entries = await listFolder(socket, '').catch((error) => {
    if (error instanceof AppError && error.message === NO_WORKSPACE) return []
    throw error
  })
  const notes = entries.filter(({ path }) => LEARNT.includes(path))
  const hasDiary = entries.some(({ path, kind }) => path === DIARY_FOLDER && kind === 'directory')
  return hasDiary ? [...notes, ...(await listFiles(socket, DIARY_FOLDER))] : notes
}

async function listFiles(socket: OpenClawSocket, folder: string): Promise<Entry[]> {
  const found: Entry[] = []
  for (const entry of await listFolder(socket, folder)) {
    if (entry.kind === 'directory') found.push(...(await listFiles(socket, entry.path)))
    else found.push(entry)
  }
  return found
}

async function listFolder(socket: OpenClawSocket, path: string): Promise<Entry[]> {
  const found: Entry[] = []
  for (;;) {
    const params = { agentId: AGENT, path, offset: found.length }
    const { entries, totalEntries } = await socket.call(Entries, 'agents.workspace.list', params)
    found.push(...entries)
    if (entries.length === 0 || found.length >= totalEntries) return found
  }
}

/**
 * Overwrites a file, because the protocol cannot delete. @throws AppError `conflict` when the agent changes it
 * meanwhile.
 */
async function writeFile(
  socket: OpenClawSocket,
  { path, text }: { path: string; text: string },
  sessionKey: string,
): Promise<void> {
  const { file } = await socket.call(File, 'sessions.files.get', { sessionKey, path })
  if (text === '' && (file.missing || file.size === 0)) return
  if (file.hash === undefined) throw new AppError('upstream_failed', `The agent does not let ${path} be changed`)
  await socket.call(Done, 'sessions.files.set', { sessionKey, path, content: text, expectedHash: file.hash })
}
