import { realpathSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Isolation } from '../../../core/agents/isolation.ts'
import { AgentSpec } from '../contract/runtime.ts'

/** Paths of one agent's files; all folders have mode 0700. */
export type AgentFolder = ReturnType<typeof agentFolder>

export function agentFolder(root: string, id: string) {
  const dir = join(root, id)
  return {
    root,
    id,
    dir,
    record: join(dir, 'runtime.json'),
    secrets: join(dir, 'secrets'),
    passwd: join(dir, 'passwd'),
    state: join(dir, 'state'),
    temporary: join(dir, 'tmp'),
    sockets: join(dir, 'sockets'),
    log: join(dir, 'agent.log'),
    olderLog: join(dir, 'agent.log.1'),
    logPlace: join(dir, 'agent.log.json'),
    restoring: join(dir, 'state.restoring'),
    replaced: join(dir, 'state.replaced'),
  }
}

/**
 * `runtime.json`: the desired state of an agent and its last known state. `process` is null from before a start until
 * the pid is
 * known, so that a crash in between is recognized.
 */
export const AgentRecord = z.object({
  desired: z.enum(['running', 'stopped']),
  // Older records have no image.
  spec: AgentSpec.omit({ secrets: true }).extend({ image: AgentSpec.shape.image.default(null) }),
  process: z.object({ pid: z.number().int().positive(), startTime: z.string() }).nullable(),
  startedAt: z.iso.datetime().nullable(),
  exitCode: z.number().int().nullable(),
  restarts: z.number().int(),
  // Of its process; older records have none.
  isolation: Isolation.default({ by: null, reason: 'it was started by an earlier version', egressEnforced: false }),
})
export type AgentRecord = z.infer<typeof AgentRecord>

/** Returns null without a record. @throws Error for an invalid one. */
export async function findRecord(folder: AgentFolder): Promise<AgentRecord | null> {
  const text = await readIfExists(folder.record)
  return text === null ? null : AgentRecord.parse(JSON.parse(text))
}

/** Replaces the record atomically and durably. */
export async function writeRecord(folder: AgentFolder, record: AgentRecord): Promise<void> {
  await writeFileAtomically(folder.record, JSON.stringify(record, null, 2))
}

/** Creates the agent's folders and empties the temporary one. The agent must have no process. */
export async function createFolder(folder: AgentFolder): Promise<void> {
  await rm(folder.temporary, { recursive: true, force: true })
  for (const dir of [folder.dir, folder.secrets, folder.state, folder.temporary]) {
    await mkdir(dir, { recursive: true, mode: 0o700 })
  }
}

/** Removes the folder, if it exists. It is renamed first, so that a crash never leaves half of it. */
export async function removeFolder(folder: AgentFolder): Promise<void> {
  const doomed = join(folder.root, `${REMOVED_PREFIX}${folder.id}`)
  await rm(doomed, { recursive: true, force: true })
  try {
    await rename(folder.dir, doomed)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return
    throw error
  }
  await rm(doomed, { recursive: true, force: true })
}

// Starts with a character that no agent's id has.
const REMOVED_PREFIX = '.removed-'

/** Lists the agents' folders below `root`, after finishing interrupted removals. */
export async function listFolders(root: string): Promise<string[]> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const entries = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  const doomed = entries.filter((entry) => entry.name.startsWith(REMOVED_PREFIX))
  await Promise.all(doomed.map((entry) => rm(join(root, entry.name), { recursive: true, force: true })))
  return entries.map((entry) => entry.name).filter((name) => AgentSpec.shape.id.safeParse(name).success)
}

/** Replaces the agent's secrets. */
export async function writeSecrets(folder: AgentFolder, secrets: Record<string, string>): Promise<void> {
  for (const name of await readdir(folder.secrets)) {
    if (!Object.hasOwn(secrets, name)) await unlink(join(folder.secrets, name))
  }
  for (const [name, value] of Object.entries(secrets)) await writeFileAtomically(join(folder.secrets, name), value)
}

export async function hasSecrets(folder: AgentFolder, secrets: Record<string, string>): Promise<boolean> {
  const names = await listSecrets(folder)
  if (names.length !== Object.keys(secrets).length) return false
  const values = await Promise.all(names.map((name) => readIfExists(join(folder.secrets, name))))
  return names.every((name, index) => values[index] === secrets[name])
}

/** Lists the names of the agent's secrets. */
export async function listSecrets(folder: AgentFolder): Promise<string[]> {
  try {
    return (await readdir(folder.secrets)).filter((name) => !name.endsWith('.new'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

/** Replaces a file atomically and durably. */
export async function writeFileAtomically(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

export async function readIfExists(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Returns the system's error code (`ENOENT`), empty without one. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Returns whether both paths lead to the same folder. */
export function isSameFolder(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}
