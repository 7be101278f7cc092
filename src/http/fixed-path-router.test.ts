import { expect, test } from 'bun:test'
import { Hono } from 'hono'
import { FixedPathRouter } from './fixed-path-router.ts'

function build() {
  const app = new Hono({ router: new FixedPathRouter() })
  app.use(async (c, next) => {
    await next()
    c.header('x-asked', c.req.path)
  })
  app.get('/agents/clone', (c) => c.text('clone'))
  app.get('/agents/:id', (c) => c.text(`agent ${c.req.param('id')}`))
  app.post('/agents/clone', (c) => c.text('cloned'))
  return app
}

const ask = async (app: Hono, path: string, method = 'GET') => {
  const response = await app.request(path, { method })
  return `${response.status} ${await response.text()}`
}

test('a fixed path before a parameter, each method for itself, the second time as the first', async () => {
  const app = build()
  for (const _time of [1, 2]) {
    expect(await ask(app, '/agents/clone')).toBe('200 clone')
    expect(await ask(app, '/agents/clone', 'POST')).toBe('200 cloned')
    expect(await ask(app, '/agents/clone', 'DELETE')).toBe('404 404 Not Found')
    expect(await ask(app, '/agents/clone', 'PROPFIND')).toBe('404 404 Not Found')
    expect(await ask(app, '/agents/one')).toBe('200 agent one')
    expect(await ask(app, '/agents/two')).toBe('200 agent two')
  }
})

test('a route added after the first match is found', async () => {
  const app = build()
  expect(await ask(app, '/agents/clone', 'PUT')).toBe('404 404 Not Found')
  app.put('/agents/*', (c) => c.text('put'))
  expect(await ask(app, '/agents/clone', 'PUT')).toBe('200 put')
})

test('middleware hears of every request, also where the route is remembered', async () => {
  const app = build()
  for (const _time of [1, 2]) {
    expect((await app.request('/agents/clone')).headers.get('x-asked')).toBe('/agents/clone')
  }
})

test('below the first part of a path stand its own routes and those of every path, in their order', async () => {
  const app = new Hono({ router: new FixedPathRouter() })
  app.get('/web/here', (c) => c.text('web'))
  app.get('/:face/here', (c) => c.text(`face ${c.req.param('face')}`))
  app.get('/backend/here', (c) => c.text('backend'))
  app.get('/*', (c) => c.text('whatever'))
  for (const _time of [1, 2]) {
    expect(await ask(app, '/web/here')).toBe('200 web')
    expect(await ask(app, '/backend/here')).toBe('200 face backend')
    expect(await ask(app, '/elsewhere/here')).toBe('200 face elsewhere')
    expect(await ask(app, '/elsewhere')).toBe('200 whatever')
    expect(await ask(app, '/')).toBe('200 whatever')
  }
})
