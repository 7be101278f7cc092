import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { orLate } from '../core/concurrency/or-late.ts'
import { AppError, errorMessage, StartupError } from '../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../core/ids.ts'
import { toListenError } from '../core/listen-error.ts'
import type { Log } from '../core/log.ts'
import { createAgentApp } from './app.ts'
import type { Outbox } from './channels/channel.ts'
import { type ChannelSettings, type Channels, openChannels } from './channels/channels.ts'
import { handOverSessions } from './channels/hand-over.ts'
import { NO_HISTORY, openChannelHistory } from './channels/history.ts'
import { createQuestions } from './channels/questions.ts'
import type { CommandPlaces, StraysLoader } from './commands/command-tools.ts'
import { createMcpServers } from './commands/mcp-servers.ts'
import type { Strays } from './commands/strays.ts'
import type { Model } from './model.ts'
import { createPlatformCall, type PlatformCall } from './platform-call.ts'
import { createInstructions } from './state/instructions.ts'
import { createLocalMemory, type Memory } from './state/memory.ts'
import { createPlatformMemory } from './state/platform-memory.ts'
import { createSessions, type Sessions } from './state/sessions.ts'
import { createTurnMarks } from './state/turn-marks.ts'
import { createWorkspace } from './state/workspace.ts'
import { createApprovals } from './tools/approvals.ts'
import { createReporters } from './tools/reports.ts'
import { createToolSettingsLoader } from './tools/settings.ts'
import { createSkillLoader } from './tools/skills.ts'
import { createKeptTurns } from './turns/kept-turns.ts'
import { createPastReader } from './turns/past.ts'
import { createTurnQueue, type TurnQueue } from './turns/queue.ts'
import { AGENT_STOPPING } from './turns/turn.ts'

export type AgentSettings = {
  host: string
  /** 0 takes a free one. */
  port: number
  agentId: string
  name: string
  model: string
  version: string
  folder: string
  gatewayToken: string
  /** Without `/v1`. */
  platformUrl: string
  platformToken: string
  /** How long the platform may be silent. */
  idleMs: number
  maxTurnMs: number
  /** How long a turn waits for the owner's answer; without one, four fifths of the turn. */
  approvalWaitMs?: number
  /** Does its runtime keep what it does away from everything else? Only then it runs commands. */
  isConfined?: boolean
  /** Is this process the agent's alone? Then it is made the parent of all that commands leave behind, to end it. */
  adoptsStrays?: boolean
  channels?: ChannelSettings
}
/** How much of a turn may be spent waiting for the owner: the rest is for saying so. */
const APPROVAL_SHARE = 0.8

export type AgentDeps = { clock: Clock; fetch: typeof fetch; log: Log }

export type RunningAgent = {
  url: string
  port: number
  /** Refuses new work, waits at most `graceMs` for running turns, then interrupts them. */
  stop(graceMs: number): Promise<void>
}

/** Opens the state folder and listens. @throws StartupError when either is impossible. */
export async function startAgent(settings: AgentSettings, deps: AgentDeps): Promise<RunningAgent> {
  const folders = {
    sessions: join(settings.folder, 'sessions'),
    workspace: join(settings.folder, 'workspace'),
  }
  await makeFolders([settings.folder, folders.sessions, folders.workspace])
  const stopping = new AbortController()
  const memory = createMemory(settings, deps, stopping.signal)
  const queue = createTurnQueue()
  const workspace = createWorkspace(folders.workspace, deps.clock)
  const loadSkills = createSkillLoader(settings, { ...deps, workspace })
  const call = createPlatformCall(settings, deps.fetch)
  const commands = toCommandPlaces(settings, folders.workspace, deps.log)
  const mcpServers = commands && createMcpServers(commands, call)

  let channels: Channels | null = null
  const outbox = createOutbox(() => channels)
  const questions = createQuestions({ listChannels: () => channels?.listOwnerChannels() ?? [], call, log: deps.log })
  const sessions = createSessions(folders.sessions, deps.log)
  const approvalWaitMs = settings.approvalWaitMs ?? settings.maxTurnMs * APPROVAL_SHARE
  const approvals = createApprovals(call, approvalWaitMs, questions)
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
      ...deps,
      memory,
      loadSkills,
      workspace,
      loadToolSettings: createToolSettingsLoader(settings.platformToken, call),
      call,
      outbox,
      commands,
      mcpServers,
      approvals,
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
      // Turns that have an id go on without anybody who listens.
      const idle = [server.stop(), keptTurns.idle(), opened.idle().then(history.settle)]
      await interruptAfter(graceMs, Promise.all(idle), { ending, queue, server })
    },
  }
}

/** Limits the wait for interrupted turns and for messages that are being sent. */
const INTERRUPT_MS = 3000

type Interrupted = { ending: AbortController; queue: TurnQueue; server: Bun.Server<undefined> }

/** Waits for what goes on, and interrupts it when that takes too long. */
async function interruptAfter(graceMs: number, idle: Promise<unknown>, { ending, queue, server }: Interrupted) {
  const finished = idle.then(() => true)
  if (await orLate(finished, graceMs, false)) return
  ending.abort()
  queue.interrupt(new AppError('unavailable', 'The agent is stopping', { code: AGENT_STOPPING }))
  if (!(await orLate(finished, INTERRUPT_MS, false))) await server.stop(true)
}

type HistoryParts = { call: PlatformCall; log: Log; sessions: Sessions; stopping: AbortSignal }

/** An agent that runs elsewhere with its owner's key is not known to the platform, which keeps no history of it. */
async function openHistory({ folder, platformToken, channels }: AgentSettings, { sessions, ...deps }: HistoryParts) {
  if (!platformToken.startsWith(AGENT_TOKEN_PREFIX)) return NO_HISTORY
  const history = await openChannelHistory(join(folder, 'channels/history'), deps)
  const hasChannels = [channels?.telegram, channels?.discord, channels?.slack].some((set) => set !== undefined)
  await handOverSessions({ mark: join(folder, 'channels/reported'), hasChannels }, sessions, history)
  return history
}

/** Messages go out by channels that are opened later. */
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
  { isConfined, adoptsStrays, folder }: AgentSettings,
  workspace: string,
  log: Log,
): CommandPlaces | null {
  if (!isConfined) return null
  return { workspace, home: join(folder, 'home'), loadStrays: createStraysLoader(adoptsStrays, log) }
}

/** Adopts them once, before the first command. A system that does not do that leaves what hides, and the log says so. */
function createStraysLoader(adoptsStrays: boolean | undefined, log: Log): StraysLoader {
  let strays: Promise<Strays | null> | undefined
  const load = async () => {
    if (!adoptsStrays) return null
    try {
      return (await import('./commands/strays.ts')).adoptStrays()
    } catch (error) {
      log.warn({ error: errorMessage(error) }, 'what a command hides from its end will run on')
      return null
    }
  }
  return () => {
    strays ??= load()
    return strays
  }
}

/** The platform remembers for its own agents. One that runs elsewhere with its owner's key keeps its memory itself. */
function createMemory(settings: AgentSettings, deps: AgentDeps, stopping: AbortSignal): Memory {
  if (settings.platformToken.startsWith(AGENT_TOKEN_PREFIX))
    return createPlatformMemory(settings, { ...deps, stopping })
  return createLocalMemory(join(settings.folder, 'memory.json'), deps.clock)
}

/** The AI SDK takes memory that an agent nobody talks to need not have. */
function createModelLoader(settings: AgentSettings, deps: Parameters<typeof import('./model.ts').createModel>[1]) {
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

function serve(settings: AgentSettings, app: ReturnType<typeof createAgentApp>) {
  const keepOpenBy = (self: Bun.Server<undefined>) => (request: Request) => self.timeout(request, 0)
  return listen(settings, (request, self) => app.fetch(request, { keepOpen: keepOpenBy(self) }))
}

/** The app answers 413 by itself; this bound is for what never reaches it. */
const MAX_BODY_BYTES = 2 * 1024 * 1024

export type Handler = (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>

/** @throws StartupError when the port is taken or the address is not this machine’s. */
export function listen(settings: Pick<AgentSettings, 'host' | 'port'>, fetch: Handler) {
  try {
    return Bun.serve({
      hostname: settings.host,
      port: settings.port,
      maxRequestBodySize: MAX_BODY_BYTES,
      // Otherwise the server shows stacks, in its own error page and on stderr.
      development: false,
      reusePort: false,
      fetch,
    })
  } catch (error) {
    throw toListenError(error, settings.host, settings.port, 'PORT')
  }
}
