import { copyFile, lstat, mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { agentFolder, errorCode } from '../../adapters/runtimes/process/files.ts'
import { writeSnapshot } from '../../adapters/runtimes/process/snapshot.ts'
import { AppError } from '../../core/errors.ts'
import type { openForReading } from '../../db/open.ts'
import { type BackupAgent, sumFile, toAgentPath } from './archive.ts'

/** Number of attempts to read a folder without a concurrent change. */
const TRIES = 5
const PAUSE_MS = 100

/**
 * Writes a folder to `file` as a gzipped tar while an agent may write to it.
 * @returns `whole` when nothing changed during the read, `moving` when every attempt saw changes, `none` when the
 * folder is missing or empty.
 */
export async function captureFolder(folder: string, file: string): Promise<'whole' | 'moving' | 'none'> {
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await Bun.sleep(PAUSE_MS * tries)
    const before = await describe(folder)
    if (before === '') return 'none'
    const isWritten = await writeSnapshot({ state: folder }, file).then(() => true, ignoreChange)
    if (isWritten && (await describe(folder)) === before) return 'whole'
  }
  const copy = `${file}.copy`
  try {
    await copyFolder(folder, copy)
    await writeSnapshot({ state: copy }, file)
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
  return 'moving'
}

/**
 * Reads a state through `read` until two reads in a row are equal.
 * @returns `whole` when they are, `moving` when no two attempts matched.
 */
async function captureStored(read: (file: string) => Promise<void>, file: string): Promise<'whole' | 'moving'> {
  await read(file)
  for (let tries = 0; tries < TRIES; tries++) {
    const before = await sumFile(file)
    await read(file)
    if ((await sumFile(file)).sha256 === before.sha256) return 'whole'
  }
  return 'moving'
}

/** Ignores errors of files that vanished or shrank during the read; another attempt follows. */
function ignoreChange(error: unknown): false {
  const isShorter = error instanceof Error && /size mismatch/i.test(error.message)
  if (errorCode(error) === 'ENOENT' || isShorter) return false
  throw error
}

/** Describes every entry with the attributes that change on a write; empty for a missing folder. */
async function describe(folder: string, inside = ''): Promise<string> {
  const lines: string[] = []
  const entries = await readdir(join(folder, inside), { withFileTypes: true }).catch(ignoreMissing)
  for (const entry of (entries ?? []).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = join(inside, entry.name)
    const stats = await lstat(join(folder, name), { bigint: true }).catch(ignoreMissing)
    lines.push(`${name} ${stats ? `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.mode}` : 'gone'}`)
    if (entry.isDirectory()) lines.push(await describe(folder, name))
  }
  return lines.join('\n')
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const entry of (await readdir(from, { withFileTypes: true }).catch(ignoreMissing)) ?? []) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyFolder(source, target)
    else if (entry.isFile()) await copyFile(source, target).catch(ignoreMissing)
    else if (entry.isSymbolicLink()) {
      const link = await readlink(source).catch(ignoreMissing)
      if (link !== undefined) await symlink(link, target)
    }
  }
}

function ignoreMissing(error: unknown): undefined {
  if (errorCode(error) === 'ENOENT') return undefined
  throw error
}

/** Returns the message of an expected read error. @throws the error when it is unexpected. */
function describeFault(error: unknown): string {
  if (error instanceof AppError) return error.message
  if (error instanceof Error && 'syscall' in error) return error.message
  throw error
}

type Sqlite = ReturnType<typeof openForReading>
type Row = Pick<BackupAgent, 'id' | 'name' | 'runtime'>

/** Lists the agents of a database with any schema version. */
export function listAgents(sqlite: Sqlite): Row[] {
  const columns = sqlite.prepare<[], { name: string }>("SELECT name FROM pragma_table_info('agents')").all()
  const names = new Set(columns.map(({ name }) => name))
  if (!names.has('id')) return []
  const runtime = names.has('runtime') ? 'runtime' : 'NULL AS runtime'
  return sqlite.prepare<[], Row>(`SELECT id, name, ${runtime} FROM agents ORDER BY id`).all()
}

/** Reads the files of an agent from its container or volume, whether it runs or not. */
export type ReadStored = Record<'docker' | 'swarm', (id: string, file: string) => Promise<void>>

/** Sources of agent files. */
type Stores = { agentsFolder: string; engines: ReadStored }

/** Copies the files of each agent below the staging folder and returns the outcome for each. */
export async function captureStates(
  agents: readonly Row[],
  stores: Stores,
  toStaged: (path: string) => string,
  report: (done: number) => void,
): Promise<BackupAgent[]> {
  const captured: BackupAgent[] = []
  for (const agent of agents) {
    report(captured.length)
    captured.push({ ...agent, ...(await captureState(agent, stores, toStaged(toAgentPath(agent.id)))) })
  }
  return captured
}

async function captureState(
  { id, runtime }: Row,
  { agentsFolder, engines }: Stores,
  file: string,
): Promise<Pick<BackupAgent, 'state' | 'reason'>> {
  // The machine of its owner stores the files of such an agent.
  if (runtime === null || runtime === 'machine') return { state: 'none', reason: null }
  try {
    if (runtime === 'process')
      return { state: await captureFolder(agentFolder(agentsFolder, id).state, file), reason: null }
    return { state: await captureStored((to) => engines[runtime](id, to), file), reason: null }
  } catch (error) {
    const isGone = error instanceof AppError && error.kind === 'not_found'
    return { state: 'missing', reason: isGone ? `it is not in the engine (${runtime})` : describeFault(error) }
  }
}
