import { Hono } from 'hono'
import { boundBodies } from '../../src/http/bodies/body.ts'
import { createBodies } from '../../src/http/bodies/unfinished.ts'
import type { BackendEnv, BaseEnv, Bindings, WebEnv } from '../../src/http/env.ts'
import { errorHandler, notFound } from '../../src/http/errors.ts'
import { frame } from '../../src/http/frame.ts'
import { capturedLog } from './log.ts'

/** Any route a test may want to try in the frame. */
type TestEnv = BaseEnv & { Variables: WebEnv['Variables'] & BackendEnv['Variables'] }

type TestAppOptions = { isHttps?: boolean; bodies?: Parameters<typeof createBodies>[0] }

/** An app with the outer layers of the real one around the routes that `mount` adds, and its log. */
export function testApp(mount: (routes: Hono<TestEnv>) => void, options: TestAppOptions = {}) {
  const { log, lines } = capturedLog()
  const routes = new Hono<TestEnv>()
  mount(routes)
  const app = new Hono<BaseEnv>()
  app.use(frame(log, { isHttps: options.isHttps ?? false, noteRequest: () => undefined }))
  app.use(boundBodies(createBodies(options.bodies)))
  app.route('/', routes)
  app.onError(errorHandler(log))
  app.notFound(notFound)
  return {
    lines,
    log,
    /** As a listener passes it on; `bindings` says who calls. */
    request: (path: string, init?: RequestInit, bindings: Partial<Bindings> = {}) =>
      Promise.resolve(app.request(path, init, { api: 'web', address: '203.0.113.7', ...bindings })),
    /** The same for a request that came over a socket. */
    handle: (request: Request, bindings: Partial<Bindings> = {}) =>
      app.fetch(request, { api: 'web', address: '127.0.0.1', ...bindings } satisfies Bindings),
    /** On a real port, for what only a socket shows. */
    listen: () =>
      Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch: (request) => app.fetch(request, { api: 'web', address: '127.0.0.1' } satisfies Bindings),
      }),
  }
}

/** A POST of `body` as JSON. */
export function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  }
}
