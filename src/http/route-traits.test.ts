import { expect, test } from 'bun:test'
import { type Context, Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { BaseEnv } from './env.ts'
import { findRouteTraits, routeTraits } from './route-traits.ts'

const AGENTS = { scope: 'agents' } as const
const WORKS = { worksOnFullDisk: true } as const
const pass = createMiddleware((_c, next) => next())
const answer = (c: Context) => c.text('ok')

/** What the outermost layer finds before a request reaches its route. */
function appOf(mount: (routes: Hono<BaseEnv>) => void) {
  let found: unknown
  const routes = new Hono<BaseEnv>()
  mount(routes)
  const app = new Hono<BaseEnv>()
    .use(
      createMiddleware(async (c, next) => {
        found = findRouteTraits(c)
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

test('the layers before a route find what it says, wherever it stands among its middleware', async () => {
  const ask = appOf((app) => {
    app.post('/first', routeTraits(AGENTS), pass, answer)
    app.post('/last', pass, routeTraits(WORKS), answer)
    app.get('/read', routeTraits(AGENTS), answer)
  })
  expect(await ask('POST', '/first')).toEqual([200, AGENTS])
  expect(await ask('POST', '/last')).toEqual([200, WORKS])
  expect(await ask('HEAD', '/read')).toEqual([200, AGENTS])
  expect(await ask('POST', '/f%69rst')).toEqual([200, AGENTS])
})

test('a route that says nothing has the defaults, and so has a path without a route', async () => {
  const ask = appOf((app) => {
    app.post('/silent', pass, answer)
    app.get('/loud', routeTraits(WORKS), answer)
  })
  expect(await ask('POST', '/silent')).toEqual([200, {}])
  expect(await ask('POST', '/loud')).toEqual([404, {}])
  expect(await ask('POST', '/nowhere')).toEqual([404, {}])
})

test('of two routes for one request the one that answers counts', async () => {
  const ask = appOf((app) => {
    app.post('/agents/clone', pass, answer)
    app.post('/agents/:id', routeTraits(WORKS), pass, answer)
    app.post('/agents/later', routeTraits(AGENTS), answer)
    app.all('/*', routeTraits(AGENTS), answer)
  })
  expect(await ask('POST', '/agents/clone')).toEqual([200, {}])
  expect(await ask('POST', '/agents/later')).toEqual([200, WORKS])
})

test('a room with an error handler of its own keeps what its routes say', async () => {
  const room = new Hono<BaseEnv>().post('/thing', routeTraits(WORKS), answer).post('/silent', answer)
  room.onError((_error, c) => c.text('no', 500))
  const ask = appOf((app) => app.route('/', room).post('/*', routeTraits(AGENTS), answer))
  expect(await ask('POST', '/thing')).toEqual([200, WORKS])
  expect(await ask('POST', '/silent')).toEqual([200, {}])
})
