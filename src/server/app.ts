import { Hono } from 'hono'
import type { Result, Router } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'
import type { H, RouterRoute } from 'hono/types'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { getPath } from 'hono/utils/url'
import QuickLRU from 'quick-lru'
import { VERSION } from '../core/version.ts'
import { healthSummarizer, probes } from '../features/monitoring/health/routes.ts'
import { summarizerRoutes } from '../features/web-tools/summarizer/summarizer.ts'
import { boundBodies, receivingChunks } from '../http/bodies/body.ts'
import type { BaseEnv } from '../http/env.ts'
import { errorHandler, notFound } from '../http/errors.ts'
import { frame } from '../http/frame.ts'
import { type ApiDocuments, apiDocumentRoutes, createApiDocuments } from './api-document/served.ts'
import { mountBackend } from './backend.ts'
import type { Dashboard } from './dashboard.ts'
import type { Platform } from './platform.ts'
import { mountWeb } from './web.ts'

export type App = ReturnType<typeof createApp>

/** Creates the app of all three listeners. Each listener passes the name of its API, which prefixes the path. */
export function createApp(platform: Platform, dashboard: Dashboard) {
  const { bodies, log, isHttps } = platform.accounts
  const { noteRequest } = platform.monitoring.exposition
  const app = new Hono<BaseEnv>({
    // Fixed and parametrised paths overlap here, which Hono's faster router rejects.
    router: rememberMatches(receiveFirst(new TrieRouter())),
    getPath: (request, options) => withApi(apiNameOf(options?.env), getPath(request)),
  })
  app.use(frame(log, { isHttps, noteRequest }))
  app.use(boundBodies(bodies))
  const documents = createApiDocuments(() => app.routes)
  // Routes are registered on this app directly: a sub-app per API would store every route twice.
  mountWeb(app, platform, dashboard, documents)
  mountBackend(app, platform, documents)
  mountSummarizer(app, platform, documents)
  app.onError(errorHandler(log))
  app.notFound(receivingChunks(notFound))
  return app
}

type Route = [H, RouterRoute]

/** Receives chunked bodies in the handler, not in the middleware before it. */
function receiveFirst(router: Router<Route>): Router<Route> {
  return {
    name: router.name,
    add(method, path, [handler, route]) {
      const isLast = !isMiddleware(findTargetHandler(handler))
      router.add(method, path, [isLast ? receivingChunks(handler) : handler, route])
    },
    match: (method, path) => router.match(method, path),
  }
}

/** Callers choose paths, so the memory is bounded. */
const MAX_REMEMBERED = 500
const MAX_PATH_LENGTH = 200

/** Remembers the matches of recent paths: searching for one takes as long as answering a small request. */
function rememberMatches(router: Router<Route>): Router<Route> {
  const remembered = new QuickLRU<string, Result<Route>>({ maxSize: MAX_REMEMBERED })
  return {
    name: router.name,
    add: (method, path, route) => router.add(method, path, route),
    match(method, path) {
      if (path.length > MAX_PATH_LENGTH) return router.match(method, path)
      const name = `${method} ${path}`
      const known = remembered.get(name)
      if (known) return known
      const found = router.match(method, path)
      remembered.set(name, found)
      return found
    },
  }
}

/** Hono matches the root of a mounted app without a trailing slash. */
function withApi(api: string, path: string): string {
  return path === '/' ? `/${api}` : `/${api}${path}`
}

/** Hono types the environment as unknown here; every listener passes `Bindings`. */
function apiNameOf(env: unknown): string {
  return typeof env === 'object' && env !== null && 'api' in env ? String(env.api) : 'web'
}

/** Mounts the summarizer API: one line per feature. */
function mountSummarizer(root: Hono<BaseEnv>, { monitoring, webTools }: Platform, documents: ApiDocuments) {
  const app = root.basePath('/summarizer')
  app.route('/', probes(monitoring))
  app.route('/', apiDocumentRoutes(documents, 'summarizer'))
  app.route('/', healthSummarizer({ version: VERSION, payTo: webTools.payTo }))
  app.route('/', summarizerRoutes(webTools))
}
