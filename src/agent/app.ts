import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { type Context, Hono, type MiddlewareHandler, type Next } from 'hono'
import { RehearsalRequest } from '../core/agents/rehearsal.ts'
import { AppError } from '../core/errors.ts'
import { inRequest, REQUEST_ID_HEADER, toRequestId } from '../core/request-id.ts'
import { isSameSecret } from '../core/secrets.ts'
import { boundBodies } from '../http/bodies/body.ts'
import { createBodies } from '../http/bodies/unfinished.ts'
import { readBearer } from '../http/internal-key.ts'
import { validate } from '../http/validate.ts'
import type { Channels } from './channels/channels.ts'
import type { McpServers } from './commands/mcp-servers.ts'
import { type AgentEnv, answerCompletion, type CompletionsDeps, joinTurn } from './completions.ts'
import { openAiErrorHandler } from './errors.ts'
import {
  AgentCompletionRequest,
  DecidePairingRequest,
  HistoryQuery,
  McpUseRequest,
  WriteInstructionsRequest,
} from './schemas.ts'
import type { OwnerInstructions } from './state/instructions.ts'
import { rehearse } from './turns/rehearse.ts'

type AgentAppDeps = CompletionsDeps & {
  channels: Channels
  agentId: string
  model: string
  version: string
  gatewayToken: string
  instructions: OwnerInstructions
  /** Null where no sandbox confines these servers. */
  mcpServers: McpServers | null
  /** State folders that must exist and be writable for readiness. */
  folders: readonly string[]
  isStopping: () => boolean
}

/** Creates the agent's HTTP API. Probes are public; every other route requires the gateway token. */
export function createAgentApp(deps: AgentAppDeps) {
  const app = new Hono<AgentEnv>()
  const startedAt = deps.clock.now().getTime()
  const uptimeMs = () => deps.clock.now().getTime() - startedAt
  const hasToken = (c: Context) => isSameSecret(readBearer(c.req.header('authorization')) ?? '', deps.gatewayToken)

  app.use((c, next) => {
    const requestId = toRequestId(c.req.header(REQUEST_ID_HEADER))
    c.header(REQUEST_ID_HEADER, requestId)
    return inRequest(requestId, next)
  })
  app.use(boundBodies(createBodies()))
  app.onError(openAiErrorHandler(deps.log))
  app.notFound((c) => c.json({ error: { message: 'Not found', type: 'not_found' } }, 404))

  app.get('/healthz', (c) => c.json({ ok: true, status: 'live' }))
  app.get('/readyz', async (c) => {
    const failing = await listFailing(deps)
    const ready = failing.length === 0
    return c.json({ ready, failing, uptimeMs: uptimeMs() }, ready ? 200 : 503)
  })
  app.get('/health', async (c) => {
    const { agentId, name, model, version } = deps
    const sessions = await deps.sessions.count()
    return c.json({ status: 'ok', version, agentId, name, model, uptimeMs: uptimeMs(), sessions })
  })
  app.get('/startupz', (c) => {
    const started = { ok: true, status: 'started' }
    return c.json(hasToken(c) ? { ...started, version: deps.version, uptimeMs: uptimeMs() } : started)
  })

  const requireToken = async (c: Context<AgentEnv, string>, next: Next) => {
    if (!hasToken(c)) throw new AppError('unauthenticated', 'Unauthorized')
    await next()
  }
  const requireRunning = async (_c: Context, next: Next) => {
    if (deps.isStopping()) throw new AppError('unavailable', 'The agent is stopping')
    await next()
  }

  app.route('/', channelRoutes(deps.channels, requireToken))
  app.use('/mcp-servers/*', requireToken, requireRunning)
  app.route('/', mcpRoutes(deps.mcpServers))
  app.use('/rehearsals', requireToken, requireRunning)
  app.route('/', rehearsalRoutes(deps))
  app.post('/v1/chat/completions', requireToken, requireRunning, validate('json', AgentCompletionRequest), (c) =>
    answerCompletion(deps, c, c.req.valid('json')),
  )
  app.get('/turns/:id', requireToken, (c) => joinTurn(deps, c, c.req.param('id')))
  app.post('/turns/:id/stop', requireToken, async (c) => {
    await deps.keptTurns.stop(c.req.param('id'))
    return c.json({ ok: true })
  })
  app.get('/sessions', requireToken, async (c) => c.json({ sessions: await deps.sessions.list() }))
  app.get('/sessions/:key/history', requireToken, validate('query', HistoryQuery), async (c) => {
    const sessionKey = c.req.param('key')
    const { limit } = c.req.valid('query')
    const items = await deps.sessions.readLast(sessionKey, (messages) => messages.length >= limit)
    if (!items) throw new AppError('not_found', 'Session not found')
    return c.json({ sessionKey, items: items.slice(-limit) })
  })
  app.delete('/sessions/:key', requireToken, async (c) => {
    const key = c.req.param('key')
    deps.queue.interrupt(new AppError('conflict', 'The session was deleted'), key)
    const deleted = await deps.queue.run(key, c.req.raw.signal, () => deps.sessions.remove(key))
    if (!deleted) throw new AppError('not_found', 'Session not found')
    return c.json({ key, deleted })
  })
  app.use('/instructions', requireToken)
  app.route('/', instructionRoutes(deps.instructions))
  app.delete('/memory', requireToken, async (c) => {
    await deps.queue.runAlone(new AppError('conflict', 'Memory was reset'), async () => {
      await deps.sessions.removeAll()
      await deps.memory.clear()
    })
    return c.json({ ok: true })
  })
  return app
}

function mcpRoutes(servers: McpServers | null) {
  const app = new Hono<AgentEnv>()
  const requireServers = () => {
    if (!servers) throw new AppError('not_found', 'This agent starts no MCP servers: nothing would confine them')
    return servers
  }
  app.get('/mcp-servers/:name/tools', async (c) => {
    c.env.keepOpen(c.req.raw)
    return c.json({ tools: await requireServers().listTools(c.req.param('name'), c.req.raw.signal) })
  })
  app.post('/mcp-servers/:name/call', validate('json', McpUseRequest), async (c) => {
    c.env.keepOpen(c.req.raw)
    const { tool, arguments: input } = c.req.valid('json')
    return c.json(await requireServers().callTool(c.req.param('name'), { tool, input }, c.req.raw.signal))
  })
  return app
}

function rehearsalRoutes(deps: AgentAppDeps) {
  const app = new Hono<AgentEnv>()
  app.post('/rehearsals', validate('json', RehearsalRequest), async (c) => {
    c.env.keepOpen(c.req.raw)
    return c.json(await rehearse(deps, c.req.valid('json'), c.req.raw.signal))
  })
  return app
}

function instructionRoutes(instructions: OwnerInstructions) {
  const app = new Hono<AgentEnv>()
  app.get('/instructions', async (c) => c.json({ text: await instructions.read() }))
  app.put('/instructions', validate('json', WriteInstructionsRequest), async (c) => {
    await instructions.write(c.req.valid('json').text)
    return c.json({ ok: true })
  })
  return app
}

/** Lists failing local checks. An unreachable platform does not make the agent unready. */
async function listFailing(deps: AgentAppDeps): Promise<string[]> {
  const isUsable = async (check: Promise<unknown>) =>
    check.then(
      () => true,
      () => false,
    )
  const folders = deps.folders.map((folder) => access(folder, constants.R_OK | constants.W_OK))
  return [
    ...((await isUsable(Promise.all(folders))) ? [] : ['state-folder']),
    ...((await isUsable(deps.memory.check())) ? [] : ['memory']),
    ...(deps.isStopping() ? ['stopping'] : []),
  ]
}

function channelRoutes(channels: Channels, requireToken: MiddlewareHandler<AgentEnv>) {
  const app = new Hono<AgentEnv>()
  app.get('/channels', requireToken, (c) => c.json({ channels: channels.list() }))
  app.post('/channels/:name/pairings/:code', requireToken, validate('json', DecidePairingRequest), async (c) => {
    const { name, code } = c.req.param()
    return c.json(await channels.decide(name, code, c.req.valid('json').approve))
  })
  app.delete('/channels/:name/people/:id', requireToken, async (c) => {
    const { name, id } = c.req.param()
    await channels.remove(name, id)
    return c.json({ ok: true })
  })
  return app
}
