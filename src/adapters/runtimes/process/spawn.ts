import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { AppError } from '../../../core/errors.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import { type AgentFolder, errorCode } from './files.ts'
import { type Isolating, withFilter } from './sandbox/confinement.ts'
import { toConfinedCommand } from './sandbox/launch.ts'
import { isNetworkSeparate, toSeparateEnvironment } from './sandbox/network.ts'
import type { ProcessIdentity, ProcessRow, ProcessTable } from './table.ts'

/**
 * `command` has absolute paths; `path` and `lang` are the only variables shared with the platform. `isolating` is how
 * agents are isolated here.
 */
export type SpawnSettings = {
  command: readonly string[]
  path: string
  lang: string
  isolating: Isolating
}

/**
 * Starts an agent as a session leader, so that signals of the platform's terminal and the platform's exit do not
 * reach it. It writes directly to its log and inherits no other handle.
 */
export function spawnAgent(
  settings: SpawnSettings,
  folder: AgentFolder,
  spec: Omit<AgentSpec, 'secrets'>,
  secretNames: readonly string[],
) {
  const { command } = settings
  const { confinement } = settings.isolating
  const log = openSync(folder.log, 'a', 0o600)
  try {
    const start = (cmd: readonly string[], handles: number[]) =>
      Bun.spawn({
        cmd: [...cmd],
        cwd: folder.state,
        env: agentEnvironment(settings, folder, spec, secretNames),
        stdio: ['ignore', log, log, ...handles],
        detached: true,
      })
    const child = confinement
      ? withFilter(confinement, (handles) => start(toConfinedCommand(confinement, folder, spec, command), handles))
      : start(command, [])
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}

function agentEnvironment(
  settings: SpawnSettings,
  folder: AgentFolder,
  spec: Omit<AgentSpec, 'secrets'>,
  secretNames: readonly string[],
): Record<string, string> {
  const { confinement } = settings.isolating
  const isSeparate = confinement !== null && isNetworkSeparate(confinement, spec.environment)
  return {
    ...(isSeparate ? toSeparateEnvironment(spec.environment) : spec.environment),
    ...Object.fromEntries(secretNames.map((name) => [`${name}_FILE`, join(folder.secrets, name)])),
    PATH: settings.path,
    LANG: settings.lang,
    HOME: folder.state,
    TMPDIR: settings.isolating.confinement ? '/tmp' : folder.temporary,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: String(spec.port),
    AGENT_DIR: folder.state,
    AGENT_CONFINED: String(settings.isolating.confinement !== null),
    // Agents mostly wait for models: without the JIT they stay below 50 MB, and a chat takes 10 ms longer.
    BUN_JSC_useJIT: '0',
  }
}

/** Returns whether this process is alive, not another one with its pid. */
export async function isAlive(table: ProcessTable, identity: ProcessIdentity): Promise<boolean> {
  const [row] = await table.find([identity.pid])
  return row?.startTime === identity.startTime
}

/**
 * Finds the process that a crash kept from being recorded: a group leader whose environment names this folder. Of
 * several the
 * oldest, because only an agent can have started the others. Takes up to 5 s when in doubt.
 */
export async function findUnrecorded(table: ProcessTable, folder: AgentFolder): Promise<ProcessIdentity | null> {
  // A new process has the agent's log open while it still has the platform's environment.
  await waitUntil(async () => {
    const [writers, marked] = await Promise.all([table.listWriters(folder.log), table.listMarked(folder.state)])
    return writers.every((writer) => marked.some((row) => row.pid === writer.pid))
  }, BIRTH_WAIT_MS)
  const leaders = (await table.listMarked(folder.state)).filter((row) => row.pid === row.groupId)
  const [oldest] = leaders.sort((a, b) => a.startTime.localeCompare(b.startTime, 'en', { numeric: true }))
  return oldest ? { pid: oldest.pid, startTime: oldest.startTime } : null
}

const BIRTH_WAIT_MS = 5000

/**
 * Sends SIGTERM to the agent's process group, SIGKILL after `graceMs` (at once for 0), and kills the remaining
 * processes. The group of an isolated agent is that of the first process in its sandbox.
 * @throws AppError `internal` when a process survives SIGKILL (it hangs in the kernel).
 */
export async function endProcesses(
  table: ProcessTable,
  folder: AgentFolder,
  identity: ProcessIdentity | null,
  graceMs: number,
): Promise<void> {
  if (identity && (await isAlive(table, identity))) {
    const hasEnded = async () => !(await isAlive(table, identity))
    const sandbox = await findSandbox(table, identity)
    if (graceMs > 0) signal(-(sandbox ?? identity).pid, 'SIGTERM')
    if (!(await waitUntil(hasEnded, graceMs))) {
      if (sandbox) signal(sandbox.pid, 'SIGKILL')
      signal(-identity.pid, 'SIGKILL')
      await waitUntil(hasEnded, KILL_WAIT_MS)
    }
  }
  await killLeftovers(table, folder, identity)
}

/** Time in which a new sandbox starts its program. */
const SANDBOX_START_MS = 2000

/**
 * Returns the first process of the agent's sandbox, which ignores SIGTERM, as soon as its group contains the program that
 * does not. Undefined for an agent without a sandbox.
 */
async function findSandbox(table: ProcessTable, { pid }: ProcessIdentity): Promise<ProcessRow | undefined> {
  let sandbox: ProcessRow | undefined
  await waitUntil(async () => {
    const family = await table.listFamily(pid)
    sandbox = family.find((row) => row.isFirstInSandbox)
    return !sandbox || family.some((row) => row.groupId === sandbox?.pid && row.pid !== sandbox.pid)
  }, SANDBOX_START_MS)
  return sandbox
}

/** Time for the kernel to end a killed process. */
const KILL_WAIT_MS = 5000

/**
 * Kills every process of an agent without a leader: the rest of its group, and processes with its folder in their
 * environment.
 * @throws AppError `internal` when a process survives.
 */
export async function killLeftovers(
  table: ProcessTable,
  folder: AgentFolder,
  identity: ProcessIdentity | null,
): Promise<void> {
  const killed = new Map<number, string>()
  const areGone = async () => {
    const rows = await listLeftovers(table, folder, identity)
    for (const { pid, startTime } of rows) {
      signal(pid, 'SIGKILL')
      killed.set(pid, startTime)
    }
    // An ending process loses its environment, by which it was found, before it releases its port.
    const living = await table.find([...killed.keys()])
    return rows.length === 0 && living.every(({ pid, startTime }) => killed.get(pid) !== startTime)
  }
  if (await waitUntil(areGone, KILL_WAIT_MS)) return
  throw new AppError('internal', 'A process of the agent does not end')
}

async function listLeftovers(table: ProcessTable, folder: AgentFolder, identity: ProcessIdentity | null) {
  const [group, marked] = await Promise.all([
    identity ? table.listGroup(identity.pid) : [],
    table.listMarked(folder.state),
  ])
  return [...marked, ...(identity && isLeaderless(group, identity) ? group : [])]
}

// A group's number is not reused while the group lives, so a group without a leader is still the agent's. A group
// with
// another leader is foreign.
function isLeaderless(group: ProcessRow[], identity: ProcessIdentity): boolean {
  return group.every((row) => row.pid !== identity.pid || row.startTime === identity.startTime)
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

async function waitUntil(isDone: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (!(await isDone())) {
    if (performance.now() >= deadline) return false
    await Bun.sleep(WAIT_STEP_MS)
  }
  return true
}

const WAIT_STEP_MS = 20

/** Returns whether this port of 127.0.0.1 is free. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error) => (errorCode(error) === 'EADDRINUSE' ? resolve(false) : reject(error)))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
