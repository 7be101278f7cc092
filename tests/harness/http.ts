import { Hono } from 'hono'
import { boundBodies } from '../../src/http/bodies/body.ts'
import { createBodies } from '../../src/http/bodies/unfinished.ts'
import type { BackendEnv, BaseEnv, Bindings, WebEnv } from '../../src/http/env.ts'
import { errorHandler, notFound } from '../../src/http/errors.ts'
import { frame } from '../../src/http/frame.ts'
import { capturedLog } from './log.ts'

/** Routes of any API. */
type TestEnv = BaseEnv & { Variables: WebEnv['Variables'] & BackendEnv['Variables'] }

type TestAppOptions = { isHttps?: boolean; bodies?: Parameters<typeof createBodies>[0] }

/** Creates an app with the real outer layers around the routes that `mount` adds, and returns its log. */
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
    /** Sends a request as a listener would; `bindings` describe the client. */
    request: (path: string, init?: RequestInit, bindings: Partial<Bindings> = {}) =>
      Promise.resolve(app.request(path, init, { api: 'web', address: '203.0.113.7', ...bindings })),
    /** Handles a request that arrived over a socket. */
    handle: (request: Request, bindings: Partial<Bindings> = {}) =>
      app.fetch(request, { api: 'web', address: '127.0.0.1', ...bindings } satisfies Bindings),
    /** Listens on a real port, for behaviour that only sockets show. */
    listen: () =>
      Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch: (request) => app.fetch(request, { api: 'web', address: '127.0.0.1' } satisfies Bindings),
      }),
  }
}

/** Returns a POST request of `body` as JSON. */
export function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  }
}
