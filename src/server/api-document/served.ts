import { Hono } from 'hono'
import { endpoint } from '../../http/endpoint.ts'
import type { ApiName, BaseEnv } from '../../http/env.ts'
import { limitRate } from '../../http/rate-limit.ts'
import { writeApiDocument } from './document.ts'
import { listRoutes, type Registered } from './routes.ts'

const REQUESTS_PER_MINUTE = 120

export type ApiDocuments = ReturnType<typeof createApiDocuments>

/** Caches the three OpenAPI documents, each generated at its first request to keep the start fast. */
export function createApiDocuments(routes: () => readonly Registered[]) {
  const written = new Map<ApiName, Promise<string>>()
  return {
    json(api: ApiName): Promise<string> {
      const known = written.get(api)
      if (known !== undefined) return known
      const json = writeApiDocument(listRoutes(routes()), api).then((document) => JSON.stringify(document))
      written.set(api, json)
      return json
    },
  }
}

/** Serves `GET /openapi.json` without authentication: it describes the API only. */
export function apiDocumentRoutes(documents: ApiDocuments, api: ApiName) {
  const app = new Hono<BaseEnv>()
  const limit = limitRate(REQUESTS_PER_MINUTE, 'Too many requests, please slow down.')

  app.get(
    '/openapi.json',
    endpoint({ summary: 'Returns this OpenAPI document', tag: 'Health', responses: { 200: 'application/json' } }),
    limit,
    async (c) => {
      c.header('content-type', 'application/json')
      return c.body(await documents.json(api))
    },
  )

  return app
}
