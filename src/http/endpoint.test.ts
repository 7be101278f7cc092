import { expect, test } from 'bun:test'
import { type Context, Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { TEST_ENDPOINT } from '../../tests/harness/documents/test-endpoint.ts'
import { endpoint, findRouteOptions } from './endpoint.ts'
import type { BaseEnv } from './env.ts'

const AGENTS = { ...TEST_ENDPOINT, scope: 'agents' } as const
const WORKS = { ...TEST_ENDPOINT, worksOnFullDisk: true } as const
const pass = createMiddleware((_c, next) => next())
const answer = (c: Context) => c.text('ok')

/** Returns the status and the options that the outermost middleware finds. */
function appOf(mount: (routes: Hono<BaseEnv>) => void) {
  let found: unknown
  const routes = new Hono<BaseEnv>()
  mount(routes)
  const app = new Hono<BaseEnv>()
    .use(
      createMiddleware(async (c, next) => {
        found = findRouteOptions(c)
        await next()
      }),
    )
    .route('/', routes)
  return async (method: string, path: string) => {
    found = undefined
    const { status } = await app.request(path, { method })
    return [status, found]
  }
}

test('findRouteOptions returns the declaration at any place among the middleware', async () => {
  const ask = appOf((app) => {
    app.post('/first', endpoint(AGENTS), pass, answer)
    app.post('/last', pass, endpoint(WORKS), answer)
    app.get('/read', endpoint(AGENTS), answer)
  })
  expect(await ask('POST', '/first')).toEqual([200, AGENTS])
  expect(await ask('POST', '/last')).toEqual([200, WORKS])
  expect(await ask('HEAD', '/read')).toEqual([200, AGENTS])
  expect(await ask('POST', '/f%69rst')).toEqual([200, AGENTS])
})

test('findRouteOptions returns no options without a declaration or a route', async () => {
  const ask = appOf((app) => {
    app.post('/silent', pass, answer)
    app.get('/loud', endpoint(WORKS), answer)
  })
  expect(await ask('POST', '/silent')).toEqual([200, {}])
  expect(await ask('POST', '/loud')).toEqual([404, {}])
  expect(await ask('POST', '/nowhere')).toEqual([404, {}])
})

test('findRouteOptions returns the options of the route that responds when two match', async () => {
  const ask = appOf((app) => {
    app.post('/agents/clone', pass, answer)
    app.post('/agents/:id', endpoint(WORKS), pass, answer)
    app.post('/agents/later', endpoint(AGENTS), answer)
    app.all('/*', endpoint(AGENTS), answer)
  })
  expect(await ask('POST', '/agents/clone')).toEqual([200, {}])
  expect(await ask('POST', '/agents/later')).toEqual([200, WORKS])
})

test('findRouteOptions returns the options when a sub-app has its own error handler', async () => {
  const subApp = new Hono<BaseEnv>().post('/thing', endpoint(WORKS), answer).post('/silent', answer)
  subApp.onError((_error, c) => c.text('no', 500))
  const ask = appOf((app) => app.route('/', subApp).post('/*', endpoint(AGENTS), answer))
  expect(await ask('POST', '/thing')).toEqual([200, WORKS])
  expect(await ask('POST', '/silent')).toEqual([200, {}])
})
