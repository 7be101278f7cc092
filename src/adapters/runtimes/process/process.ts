import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Clock } from '../../../core/clock.ts'
import { inLanes } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { createBroadcast } from '../contract/events.ts'
import {
  agentNotFound,
  type Inspection,
  type Runtime,
  type RuntimeEvent,
  requireSpec,
  runtimeClosed,
} from '../contract/runtime.ts'
import { ProcessAgent, type ProcessAgentDeps } from './agent.ts'
import { agentFolder, listFolders } from './files.ts'
import type { ProcessTiming } from './life.ts'
import { createAgentNetwork } from './network.ts'
import { findConfinement, type Isolating } from './sandbox/confinement.ts'
import type { SpawnSettings } from './spawn.ts'
import { createProcessTable, type ProcessTable } from './table.ts'

/**
 * `dir` belongs to this runtime alone; `command` has absolute paths, because agents have their own working
 * directories; `path` and
 * `lang` become `PATH` and `LANG`. `hidden` are folders that agents never see. `mayStart` limits which dead agents are
 * restarted; default all. Tests set `table`, `timing` and `isolating`.
 */
export type ProcessRuntimeDeps = {
  dir: string
  command: readonly [string, ...string[]]
  path: string
  lang: string
  hidden?: readonly string[]
  clock: Clock
  log: Log
  mayStart?: (id: string) => boolean
  table?: ProcessTable
  timing?: Partial<ProcessTiming>
  isolating?: Isolating
}

/** Agents recovered concurrently at start-up. */
const RECOVERED_AT_ONCE = 32
const TIMING: ProcessTiming = {
  backoffMs: (failures) => Math.min(1000 * 2 ** failures, 30_000),
  steadyMs: 60_000,
  pollMs: 500,
  stopMs: 30_000,
  maxLogBytes: 10 * 1024 * 1024,
}

/** Agents are on the network of this machine, except isolated ones, which say so themselves. */
const NETWORK: Pick<Runtime, 'egressGap' | 'platformHost'> = {
  egressGap: () => 'This agent shares the network of this machine',
  platformHost: async () => '127.0.0.1',
}

/**
 * Creates the runtime of agents as child processes, which outlive the platform. Resolves when the processes of an
 * earlier run are found; agents that should run but do not are then starting. Agents are isolated by bubblewrap where
 * it works; elsewhere they are separated by folder and environment only, and limits are reported but not enforced.
 * Network use is not counted.
 */
export async function createProcessRuntime(deps: ProcessRuntimeDeps): Promise<Runtime> {
  const dir = resolve(deps.dir)
  const table = deps.table ?? createProcessTable()
  const timing = { ...TIMING, ...deps.timing }
  const events = createBroadcast<RuntimeEvent>()
  let isClosed = false

  const parts = { ...deps, dir, table, timing, isolating: await findIsolating({ ...deps, dir }) }
  const { agents, createAgent, network } = openAgents({ ...parts, publish: events.publish })
  const requireOpen = () => {
    if (isClosed) throw runtimeClosed()
  }
  const getAgent = (id: string) => {
    requireOpen()
    const agent = agents.get(id)
    if (!agent) throw agentNotFound()
    return agent
  }

  await recoverAll(await listFolders(dir), createAgent, deps.log)
  const stopWatching = watch(agents, table, timing.pollMs, deps.log)

  return {
    name: 'process',
    async deploy(spec) {
      requireOpen()
      const checked = requireSpec(spec)
      await (agents.get(checked.id) ?? createAgent(checked.id)).deploy(checked)
    },
    async renew(spec) {
      requireOpen()
      const checked = requireSpec(spec)
      const agent = agents.get(checked.id) ?? createAgent(checked.id)
      if (!(await agent.hasSpec(checked))) await agent.deploy(checked)
    },
    // The built-in agent has no state to repair.
    start: async (id) => getAgent(id).start(),
    stop: async (id) => getAgent(id).stop(),
    kill: async (id) => getAgent(id).kill(),
    restart: async (id) => getAgent(id).restart(),
    async remove(id) {
      requireOpen()
      const agent = agents.get(id)
      await agent?.remove()
      if (agent?.isIdleAndUnknown) agents.delete(id)
    },
    async inspect(id) {
      requireOpen()
      return agents.get(id)?.inspect() ?? null
    },
    stats: async (id) => getAgent(id).stats(),
    logs: async (id, { tail }) => getAgent(id).logs(tail),
    async *followLogs(id, { after, signal }) {
      yield* getAgent(id).followLogs(after, signal)
    },
    async *watch(signal) {
      requireOpen()
      yield* events.listen(signal)
    },
    snapshot: async (id, file) => getAgent(id).snapshot(file),
    restore: async (id, file) => getAgent(id).restore(file),
    findImage: async () => null,
    pull: async () => requireOpen(),
    ...NETWORK,
    async list() {
      requireOpen()
      return inspectAll(agents)
    },
    isAvailable: async () => !isClosed && canStart({ ...deps, dir }),
    async close(options) {
      // After closing, the agents may belong to another runtime.
      if (isClosed) return
      isClosed = true
      stopWatching()
      events.end()
      await Promise.all([...agents.values()].map((agent) => agent.close(options?.stopAgents ?? false)))
      network.closeAll()
    },
  }
}

async function findIsolating(deps: ProcessRuntimeDeps): Promise<Isolating> {
  const isolating = deps.isolating ?? (await findConfinement(deps))
  if (isolating.reason !== null) deps.log.warn(`Process agents are not isolated: ${isolating.reason}.`)
  return isolating
}

/** Creates the map of known agents, the function that adds one, and their network. */
function openAgents({
  command,
  path,
  lang,
  dir,
  mayStart = () => true,
  isolating,
  ...deps
}: ProcessRuntimeDeps & Pick<ProcessAgentDeps, 'table' | 'timing' | 'publish'> & Pick<SpawnSettings, 'isolating'>) {
  const agents = new Map<string, ProcessAgent>()
  const isPortWanted = (port: number, id: string) =>
    [...agents].some(([otherId, agent]) => otherId !== id && agent.wantedPort === port)
  const network = createAgentNetwork((id) => agentFolder(dir, id), isolating.confinement?.sockets ?? null)
  const parts = { ...deps, spawn: { command, path, lang, isolating }, network, isPortWanted, mayStart }
  const createAgent = (id: string) => {
    const agent = new ProcessAgent(parts, agentFolder(dir, id))
    agents.set(id, agent)
    return agent
  }
  return { agents, createAgent, network }
}

function inspectAll(agents: Map<string, ProcessAgent>): Inspection[] {
  const inspections = [...agents.values()].map((agent) => agent.inspect())
  return inspections.filter((found) => found !== null).sort((a, b) => a.id.localeCompare(b.id))
}

/** Returns whether the program exists and the folder is writable. */
async function canStart({ command, path, dir }: ProcessRuntimeDeps): Promise<boolean> {
  if (Bun.which(command[0], { PATH: path }) === null) return false
  return access(dir, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

/**
 * Recovers agents. An unreadable one must not block the others: it counts as not deployed until its next deployment.
 */
async function recoverAll(ids: string[], createAgent: (id: string) => ProcessAgent, log: Log): Promise<void> {
  await inLanes(ids, RECOVERED_AT_ONCE, async (id) => {
    try {
      await createAgent(id).recover()
    } catch (error) {
      log.error({ agentId: id, error: errorMessage(error) }, 'agent could not be recovered')
    }
  })
}

/** Polls processes of an earlier run, because their exits are not reported, and the sizes of logs. */
function watch(agents: Map<string, ProcessAgent>, table: ProcessTable, pollMs: number, log: Log): () => void {
  let isStopped = false
  let timer: Timer
  const plan = () => {
    timer = setTimeout(() => {
      look(agents, table)
        .catch((error: unknown) => log.error({ error: errorMessage(error) }, 'agents could not be looked at'))
        .finally(() => {
          if (!isStopped) plan()
        })
    }, pollMs)
    timer.unref()
  }
  plan()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

async function look(agents: Map<string, ProcessAgent>, table: ProcessTable): Promise<void> {
  const watched = [...agents.values()].flatMap((agent) => (agent.adopted ? [{ agent, identity: agent.adopted }] : []))
  const rows = await table.find(watched.map(({ identity }) => identity.pid))
  const startTimes = new Map(rows.map((row) => [row.pid, row.startTime]))
  for (const { agent, identity } of watched) {
    if (startTimes.get(identity.pid) !== identity.startTime) agent.noteGone(identity)
  }
  await Promise.all([...agents.values()].map((agent) => agent.trimLog()))
}
