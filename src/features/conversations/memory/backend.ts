import { type Context, Hono } from 'hono'
import { write } from '../../../db/write.ts'
import { endpoint } from '../../../http/endpoint.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { readOwnMemory, recallKey } from './read.ts'
import { clearMemory, forgetOwnKey, importFacts, rememberFact, type SaveDeps } from './save.ts'
import {
  FactSaved,
  FactsForgotten,
  FactsImported,
  ForgetOwnQuery,
  ImportRequest,
  MemoryFound,
  OwnSearchQuery,
  Recalled,
  RecallQuery,
  RememberRequest,
} from './schemas.ts'
import { searchOwnMemory } from './search.ts'

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
