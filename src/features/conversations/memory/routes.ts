import { type Context, Hono, type Next } from 'hono'
import type { Log } from '../../../core/log.ts'
import { write } from '../../../db/write.ts'
import { Done, endpoint, type Responses } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type Exports, sendExport } from '../../../http/streams/exports.ts'
import { sendPieces } from '../../../http/streams/send-pieces.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { importWorkspace } from './import-workspace.ts'
import { type InstructionDeps, readInstructions, writeInstructions } from './notes.ts'
import { exportMemory, type ReadMemoryDeps, readMemory, readOwnMemory, recallKey } from './read.ts'
import { clearMemory, forgetKey, forgetOwnKey, importFacts, rememberFact, type SaveDeps, saveMemory } from './save.ts'
import {
  FactSaved,
  FactsForgotten,
  FactsImported,
  ForgetOwnQuery,
  ForgetQuery,
  ImportRequest,
  Instructions,
  InstructionsRequest,
  MemoryForgotten,
  MemoryFound,
  MemoryQuery,
  MemorySaved,
  OwnSearchQuery,
  Recalled,
  RecallQuery,
  RememberRequest,
  SaveMemoryRequest,
  WorkspaceImport,
  WorkspaceImported,
} from './schemas.ts'
import { searchMemory, searchOwnMemory } from './search.ts'

const JSON_TYPE = 'application/json'
/** Large enough for the diary of several years. */
const MAX_IMPORT_BYTES = 8 * 1024 * 1024

const listAnswers: Responses = { responses: { 200: 'application/json' }, errors: ['not_found'] }
const exportAnswers: Responses = { responses: { 200: 'application/json' }, errors: ['limited'] }
const showInstructionsAnswers: Responses = { responses: { 200: Instructions }, errors: ['not_found', 'conflict'] }
const changeInstructionsAnswers: Responses = { responses: { 200: Done }, errors: ['not_found', 'conflict'] }
const importAnswers: Responses = { responses: { 200: WorkspaceImported }, errors: ['not_found', 'conflict'] }
const saveAnswers: Responses = { responses: { 200: MemorySaved }, errors: ['not_found', 'conflict'] }
const forgetAnswers: Responses = {
  responses: { 200: MemoryForgotten },
  errors: ['not_found', 'conflict', 'unavailable'],
}

/** Routes for the memory and instructions of agents. */
export function memoryWeb(
  deps: SaveDeps & ReadMemoryDeps & InstructionDeps & { log: Log; guards: Guards; exports: Exports },
) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/memory',
    endpoint({ summary: 'Lists or searches agent memory', tag: 'Memory', ...listAnswers }),
    signedIn,
    validate('query', MemoryQuery),
    keepWaiting,
    async (c) => {
      const { q, ...query } = c.req.valid('query')
      if (q !== undefined) return c.json(searchMemory(deps.db, c.var.user, { q, ...query }))
      const pieces = await readMemory(deps, c.var.user, query.agentId)
      return sendPieces(c, deps, { type: JSON_TYPE, pieces })
    },
  )

  app.get(
    '/api/memory/export',
    endpoint({ summary: 'Exports all memory as JSON', tag: 'Memory', ...exportAnswers }),
    signedIn,
    keepWaiting,
    (c) =>
      sendExport(c, deps, async () => ({
        name: 'agent-memory.json',
        type: JSON_TYPE,
        pieces: await exportMemory(deps, c.var.user),
      })),
  )

  app.get(
    '/api/agents/:id/instructions',
    endpoint({ summary: 'Returns the standing instructions of an agent', tag: 'Memory', ...showInstructionsAnswers }),
    signedIn,
    keepWaiting,
    async (c) => c.json({ text: await readInstructions(deps, c.var.user, c.req.param('id')) }),
  )

  app.put(
    '/api/agents/:id/instructions',
    endpoint({
      summary: 'Replaces the standing instructions of an agent',
      tag: 'Memory',
      ...changeInstructionsAnswers,
      scope: 'agents',
    }),
    signedIn,
    validate('json', InstructionsRequest),
    keepWaiting,
    async (c) => {
      await writeInstructions(deps, c.var.user, c.req.param('id'), c.req.valid('json').text)
      return c.json({ success: true })
    },
  )

  app.post(
    '/api/memory/import',
    endpoint({
      summary: 'Imports files of another workspace as memory',
      tag: 'Memory',
      ...importAnswers,
      scope: 'agents',
      maxBodyBytes: MAX_IMPORT_BYTES,
    }),
    signedIn,
    validate('json', WorkspaceImport),
    keepWaiting,
    async (c) => c.json(await importWorkspace(deps, c.var.user, c.req.valid('json'))),
  )

  app.post(
    '/api/memory',
    endpoint({ summary: 'Saves facts for an agent', tag: 'Memory', ...saveAnswers, scope: 'agents' }),
    signedIn,
    validate('json', SaveMemoryRequest),
    keepWaiting,
    async (c) => {
      const request = c.req.valid('json')
      const { keys, savedAt } = await saveMemory(deps, c.var.user, request)
      const what = request.key === undefined ? { keysUpdated: keys.length } : { key: request.key }
      return c.json({ success: true, agentId: request.agentId, ...what, saved: savedAt.toISOString() })
    },
  )

  app.delete(
    '/api/memory',
    endpoint({ summary: 'Deletes a fact of an agent', tag: 'Memory', ...forgetAnswers, scope: 'agents' }),
    signedIn,
    validate('query', ForgetQuery),
    keepWaiting,
    async (c) => {
      const { agentId, key } = c.req.valid('query')
      await forgetKey(deps, c.var.user, agentId, key)
      return c.json({ success: true, agentId, key, deleted: true })
    },
  )

  return app
}

/** Reading notes of an OpenClaw agent may exceed the listener's idle timeout. */
async function keepWaiting(c: Context<WebEnv>, next: Next): Promise<void> {
  c.env.keepOpen?.(c.req.raw)
  await next()
}

/** Routes through which agents store and read their memory. */
export function memoryBackend(deps: SaveDeps & { callers: CallerFinder; requestsPerMinute: { backend: number } }) {
  const app = new Hono<AgentCallerEnv>()
  const agent = requireAgent(deps.callers)
  // All agents of one machine share an address.
  const whoAsks = (c: Context) => String(c.get('agentId'))
  const limit = limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks)

  app.get(
    '/v1/memory',
    endpoint({
      summary: 'Returns one fact, or the start of all',
      tag: 'Memory',
      responses: { 200: Recalled },
      errors: ['not_found', 'limited'],
    }),
    agent,
    limit,
    validate('query', RecallQuery),
    (c) => {
      const { key } = c.req.valid('query')
      if (key === undefined) return c.json(readOwnMemory(deps.db, c.var.agentId))
      return c.json({ key, text: recallKey(deps.db, c.var.agentId, key) })
    },
  )

  app.get(
    '/v1/memory/search',
    endpoint({ summary: 'Searches facts and messages', tag: 'Memory', responses: { 200: MemoryFound } }),
    agent,
    limit,
    validate('query', OwnSearchQuery),
    (c) => c.json(searchOwnMemory(deps.db, c.var.agentId, c.req.valid('query'))),
  )

  app.post(
    '/v1/memory',
    endpoint({ summary: 'Saves a fact', tag: 'Memory', responses: { 200: FactSaved }, errors: ['not_found'] }),
    agent,
    limit,
    validate('json', RememberRequest),
    async (c) => {
      const request = c.req.valid('json')
      const savedAt = await rememberFact(deps, c.var.agentId, request)
      return c.json({ key: request.key, saved: savedAt.toISOString() })
    },
  )

  app.post(
    '/v1/memory/import',
    endpoint({
      summary: "Imports facts from an agent's file",
      tag: 'Memory',
      responses: { 200: FactsImported },
      errors: ['not_found'],
    }),
    agent,
    limit,
    validate('json', ImportRequest),
    async (c) => c.json({ imported: await importFacts(deps, c.var.agentId, c.req.valid('json')) }),
  )

  app.delete(
    '/v1/memory',
    endpoint({
      summary: 'Deletes a fact, or all facts',
      tag: 'Memory',
      responses: { 200: FactsForgotten },
      errors: ['not_found'],
    }),
    agent,
    limit,
    validate('query', ForgetOwnQuery),
    async (c) => {
      const { key } = c.req.valid('query')
      if (key === undefined) await write(deps.db, (tx) => clearMemory(tx, c.var.agentId))
      else await forgetOwnKey(deps.db, c.var.agentId, key)
      return c.json({ key: key ?? null, deleted: true })
    },
  )

  return app
}
