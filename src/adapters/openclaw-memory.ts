import { z } from 'zod'
import { AppError } from '../core/errors.ts'
import type { AgentEndpoint } from './agent-endpoint.ts'
import type { Ask } from './agent-gateway-http.ts'
import { type OpenClawSocket, openOpenClawSocket } from './openclaw-socket.ts'

const PAGE_SIZE = 200
const AGENT = 'main'
const MAIN_SESSION = 'agent:main:main'
/** What the agent learnt: about the world, about its people, and in its sleep. Who it is (`SOUL.md`) stays. */
const LEARNT = ['MEMORY.md', 'USER.md', 'DREAMS.md']
const DIARY_FOLDER = 'memory'

const Sessions = z.object({ sessions: z.array(z.object({ key: z.string(), isMain: z.boolean().optional() })) })
const Deletion = z.object({ deleted: z.boolean() })
const Entries = z.object({
  entries: z.array(z.object({ path: z.string(), kind: z.string() })),
  totalEntries: z.number(),
})
const File = z.object({
  file: z.object({ missing: z.boolean(), size: z.number().optional(), hash: z.string().optional() }),
})
const Done = z.unknown()

/**
 * Ends every session of an OpenClaw agent and empties what it has written down about them. Its configuration, its skills
 * and the files it works on stay. The gateway notices within seconds that its search index is out of date.
 */
export async function resetOpenClawMemory(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<void> {
  using socket = await openOpenClawSocket(ask, endpoint, timeoutMs)
  for (const archived of [false, true]) await deleteSessions(socket, archived)
  await socket.call(Done, 'sessions.reset', { key: MAIN_SESSION, reason: 'reset' })
  for (const path of await listLearnt(socket)) await emptyFile(socket, path)
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

async function listLearnt(socket: OpenClawSocket): Promise<string[]> {
  const entries = await listFolder(socket, '')
  const notes = entries.filter(({ path }) => LEARNT.includes(path)).map(({ path }) => path)
  const hasDiary = entries.some(({ path, kind }) => path === DIARY_FOLDER && kind === 'directory')
  return hasDiary ? [...notes, ...(await listFiles(socket, DIARY_FOLDER))] : notes
}

async function listFiles(socket: OpenClawSocket, folder: string): Promise<string[]> {
  const found: string[] = []
  for (const { path, kind } of await listFolder(socket, folder)) {
    if (kind === 'directory') found.push(...(await listFiles(socket, path)))
    else found.push(path)
  }
  return found
}

async function listFolder(socket: OpenClawSocket, path: string) {
  const found: z.infer<typeof Entries>['entries'] = []
  for (;;) {
    const params = { agentId: AGENT, path, offset: found.length }
    const { entries, totalEntries } = await socket.call(Entries, 'agents.workspace.list', params)
    found.push(...entries)
    if (entries.length === 0 || found.length >= totalEntries) return found
  }
}

/** The protocol can overwrite files but not delete them. @throws AppError `conflict` when the agent writes to it meanwhile. */
async function emptyFile(socket: OpenClawSocket, path: string): Promise<void> {
  const { file } = await socket.call(File, 'sessions.files.get', { sessionKey: MAIN_SESSION, path })
  if (file.missing || file.size === 0) return
  if (file.hash === undefined) throw new AppError('upstream_failed', `The agent does not let ${path} be emptied`)
  await socket.call(Done, 'sessions.files.set', {
    sessionKey: MAIN_SESSION,
    path,
    content: '',
    expectedHash: file.hash,
  })
}
