import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { orLate } from '../core/concurrency/race.ts'
import { AppError, errorMessage, StartupError, toListenError } from '../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import { createAgentApp } from './app.ts'
import type { Outbox } from './channels/channel.ts'
import { type ChannelSettings, type Channels, openChannels } from './channels/channels.ts'
import { handOverSessions, NO_HISTORY, openChannelHistory } from './channels/history.ts'
import { createOwnerNotices } from './channels/owner-notices.ts'
import { createQuestions } from './channels/questions.ts'
import type { CommandPlaces, LoadOrphanReaper } from './commands/command-tools.ts'
import { createMcpServers } from './commands/mcp-servers.ts'
import type { OrphanReaper } from './commands/orphans.ts'
import type { Model } from './model.ts'
import { createPlatformCall, type PlatformCall } from './platform.ts'
import { createInstructions } from './state/instructions.ts'
import { createLocalMemory, type FactStore } from './state/memory.ts'
import { createPlatformMemory } from './state/platform-memory.ts'
import { createSessionStore, type SessionStore } from './state/sessions.ts'
import { createTurnMarks } from './state/turn-marks.ts'
import { createWorkspace } from './state/workspace.ts'
import { createApprovals } from './tools/approvals.ts'
import { createUseCounter } from './tools/day-limits.ts'
import { createReporters } from './tools/reports.ts'
import { createToolSettingsLoader } from './tools/settings.ts'
import { createSkillLoader } from './tools/skills.ts'
import { createKeptTurns } from './turns/kept-turns.ts'
import { createPastReader } from './turns/past.ts'
import { createTurnQueue, type TurnQueue } from './turns/queue.ts'
import { AGENT_STOPPING } from './turns/turn.ts'

export type AgentServerSettings = {
  host: string
  /** 0 chooses a free port. */
  port: number
  agentId: string
  name: string
  model: string
  version: string
  folder: string
  gatewayToken: string
  platformUrl: string
  platformToken: string
  idleMs: number
  maxTurnMs: number
  /** Time a turn waits for the owner's approval; by default 80 % of `maxTurnMs`. */
  approvalWaitMs?: number
  /** The runtime isolates the agent; without isolation it runs no commands unless its owner has accepted that. */
  isConfined?: boolean
  /** Environment variables by which programs of the agent find the egress proxy. */
  proxyVariables?: Readonly<Record<string, string>>
  /** The process runs only this agent, so it can become the subreaper of orphaned command processes. */
  isSubreaper?: boolean
  channels?: ChannelSettings
}
/** Leaves time to report an approval that did not arrive. */
const APPROVAL_SHARE = 0.8

export type RunningAgent = {
  url: string
  port: number
  /** Rejects new work, waits at most `graceMs` for running turns, then interrupts them. */
  stop(graceMs: number): Promise<void>
}

/** Opens the state folder and starts listening. @throws StartupError when either fails. */
export async function serveAgent(
  settings: AgentServerSettings,
  deps: { clock: Clock; fetch: typeof fetch; log: Log },
): Promise<RunningAgent> {
  const folders = await openFolders(settings.folder)
  const stopping = new AbortController()
  const memory = createMemory(settings, deps, stopping.signal)
  const queue = createTurnQueue()
  const workspace = createWorkspace(folders.workspace, deps.clock)
  const loadSkills = createSkillLoader(settings, { ...deps, workspace })
  const call = createPlatformCall(settings, deps.fetch)
  const commands = toCommandPlaces(settings, folders.workspace, deps.log)
  const mcpServers = commands.isConfined ? createMcpServers(commands, call) : null
  let channels: Channels | null = null
  const outbox = createOutbox(() => channels)
  const owners = { listChannels: () => channels?.listOwnerChannels() ?? [], log: deps.log }
  const questions = createQuestions({ ...owners, call })
  const sessions = createSessionStore(folders.sessions, deps.log)
  const approvals = createApprovals(call, settings.approvalWaitMs ?? settings.maxTurnMs * APPROVAL_SHARE, questions)
  const countUse = createUseCounter(call, approvals)
  const turnDeps = {
    ...settings,
    ...deps,
    memory,
    loadSkills,
    queue,
    listWaitingTools: approvals.listWaiting,
    instructions: createInstructions(workspace, deps.log),
    sessions,
    readPast: createPastReader({ ...settings, ...deps, sessions }),
    loadModel: createModelLoader(settings, {
      ...{ ...deps, memory, loadSkills, workspace },
      loadToolSettings: createToolSettingsLoader(settings.platformToken, call),
      call,
      outbox,
      commands,
      mcpServers,
      approvals,
      notifyOwners: createOwnerNotices(owners),
      countUse,
      ...createReporters(settings, deps),
    }),
  }
  const keptTurns = createKeptTurns({ ...turnDeps, marks: createTurnMarks(join(settings.folder, 'turns')) })
  const ending = new AbortController()
  const history = await openHistory(settings, { ...deps, call, sessions, stopping: stopping.signal })
  const opened = await openChannels(settings.channels, {
    ...deps,
    folder: settings.folder,
    workspace: folders.workspace,
    keptTurns,
    history,
    countUse,
    press: questions.press,
    stopping: stopping.signal,
    ending: ending.signal,
  })
  channels = opened
  const app = createAgentApp({
    ...turnDeps,
    keptTurns,
    channels: opened,
    mcpServers,
    folders: Object.values(folders),
    isStopping: () => stopping.signal.aborted,
  })
  const server = serve(settings, app)
  return {
    url: `http://${server.hostname}:${server.port}`,
    port: server.port ?? settings.port,
    async stop(graceMs) {
      stopping.abort()
      await using _servers = { [Symbol.asyncDispose]: async () => mcpServers?.close() }
      // Turns with an id continue without a listener.
      const idle = [server.stop(), keptTurns.idle(), opened.idle().then(history.settle)]
      await interruptAfter(graceMs, Promise.all(idle), { ending, queue, server })
    },
  }
}

async function openFolders(folder: string) {
  const folders = { sessions: join(folder, 'sessions'), workspace: join(folder, 'workspace') }
  await makeFolders([folder, folders.sessions, folders.workspace])
  return folders
}

const INTERRUPT_MS = 3000

type Interrupted = { ending: AbortController; queue: TurnQueue; server: Bun.Server<undefined> }

/** Waits for `idle`, and interrupts running work after `graceMs`. */
async function interruptAfter(graceMs: number, idle: Promise<unknown>, { ending, queue, server }: Interrupted) {
  const finished = idle.then(() => true)
  if (await orLate(finished, graceMs, false)) return
  ending.abort()
  queue.interrupt(new AppError('unavailable', 'The agent is stopping', { code: AGENT_STOPPING }))
  if (!(await orLate(finished, INTERRUPT_MS, false))) await server.stop(true)
}

type HistoryParts = { call: PlatformCall; log: Log; sessions: SessionStore; stopping: AbortSignal }

/**
 * The platform keeps channel history only for agents with an agent token, not for one that uses its owner's API key.
 */
async function openHistory(
  { folder, platformToken, channels }: AgentServerSettings,
  { sessions, ...deps }: HistoryParts,
) {
  if (!platformToken.startsWith(AGENT_TOKEN_PREFIX)) return NO_HISTORY
  const history = await openChannelHistory(join(folder, 'channels/history'), deps)
  const hasChannels = [channels?.telegram, channels?.discord, channels?.slack].some((set) => set !== undefined)
  await handOverSessions({ mark: join(folder, 'channels/reported'), hasChannels }, sessions, history)
  return history
}

/** Sends through channels that are opened after the outbox is created. */
function createOutbox(find: () => Channels | null): Outbox {
  const opened = () => {
    const channels = find()
    if (!channels) throw new AppError('unavailable', 'The channels are being opened')
    return channels
  }
  return {
    listRecipients: () => find()?.listRecipients() ?? [],
    requireRecipient: (to) => opened().requireRecipient(to),
    send: (to, text) => opened().send(to, text),
  }
}

function toCommandPlaces(
  { isConfined = false, isSubreaper, proxyVariables = {}, folder }: AgentServerSettings,
  workspace: string,
  log: Log,
): CommandPlaces & { isConfined: boolean } {
  return {
    isConfined,
    workspace,
    home: join(folder, 'home'),
    proxyVariables,
    loadOrphanReaper: createOrphanReaperLoader(isSubreaper, log),
  }
}

/**
 * Becomes a subreaper before the first command. Without subreaper support, processes that escape their group keep
 * running; this is logged.
 */
function createOrphanReaperLoader(isSubreaper: boolean | undefined, log: Log): LoadOrphanReaper {
  let orphanReaper: Promise<OrphanReaper | null> | undefined
  const load = async () => {
    if (!isSubreaper) return null
    try {
      return (await import('./commands/orphans.ts')).becomeSubreaper()
    } catch (error) {
      log.warn(
        { error: errorMessage(error) },
        'cannot become a subreaper: processes that escape their command keep running',
      )
      return null
    }
  }
  return () => {
    orphanReaper ??= load()
    return orphanReaper
  }
}

/**
 * The platform stores the memory of its own agents. An agent that uses its owner's API key stores its memory locally.
 */
function createMemory(
  settings: AgentServerSettings,
  deps: { clock: Clock; fetch: typeof fetch; log: Log },
  stopping: AbortSignal,
): FactStore {
  if (settings.platformToken.startsWith(AGENT_TOKEN_PREFIX))
    return createPlatformMemory(settings, { ...deps, stopping })
  return createLocalMemory(join(settings.folder, 'memory.json'), deps.clock)
}

/** Loads the AI SDK with the first turn, so an idle agent needs less memory. */
function createModelLoader(
  settings: AgentServerSettings,
  deps: Parameters<typeof import('./model.ts').createModel>[1],
) {
  let model: Promise<Model> | undefined
  return () => {
    model ??= import('./model.ts').then(({ createModel }) => createModel(settings, deps))
    return model
  }
}

async function makeFolders(folders: string[]): Promise<void> {
  try {
    for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartupError(`AGENT_DIR: cannot be used (${errorMessage(error)})`, { cause: error })
  }
}

function serve(settings: AgentServerSettings, app: ReturnType<typeof createAgentApp>) {
  const keepOpenBy = (self: Bun.Server<undefined>) => (request: Request) => self.timeout(request, 0)
  return listenAgent(settings, (request, self) => app.fetch(request, { keepOpen: keepOpenBy(self) }))
}

/** Backstop for connections that the app's own limit (413) does not reach. */
const MAX_BODY_BYTES = 2 * 1024 * 1024

export type Handler = (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>

/** @throws StartupError when the port is taken or the address is not local. */
export function listenAgent(settings: Pick<AgentServerSettings, 'host' | 'port'>, fetch: Handler) {
  try {
    return Bun.serve({
      hostname: settings.host,
      port: settings.port,
      maxRequestBodySize: MAX_BODY_BYTES,
      // Development mode prints stack traces on an error page and on stderr.
      development: false,
      reusePort: false,
      fetch,
    })
  } catch (error) {
    throw toListenError(error, settings.host, settings.port, 'PORT')
  }
}
