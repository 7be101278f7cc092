import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { describeRoutes } from '../scripts/routes.ts'
import { describeMiddleware, endpoint } from '../src/http/endpoint.ts'
import { TEST_ENDPOINT } from './harness/documents/test-endpoint.ts'

const pass = () => createMiddleware((_c, next) => next())
const signedIn = describeMiddleware(pass(), { guard: 'signed-in' })
const internal = describeMiddleware(pass(), { guard: 'internal' })

test('describeRoutes lists each route with its API and guard', () => {
  const web = new Hono()
    .get('/api/health', (c) => c.text('ok'))
    .get('/api/agents', pass(), signedIn, pass(), (c) => c.text('ok'))
    .post('/api/agents', (c) => c.text('ok'))
  const summarizer = new Hono().get('/', (c) => c.text('ok'))
  const app = new Hono().use(pass()).route('/web', web).route('/summarizer', summarizer)

  expect(describeRoutes(app.routes)).toEqual([
    'GET / summarizer public',
    'GET /api/agents web signed-in',
    'POST /api/agents web public',
    'GET /api/health web public',
  ])
})

test('describeRoutes applies a guard to later routes below its path only', () => {
  const backend = new Hono()
    .get('/api/before', (c) => c.text('ok'))
    .use('/api/*', internal)
    .get('/api/agents/:id', (c) => c.text('ok'))
    .get('/api/agents/:id/logs', signedIn, (c) => c.text('ok'))
    .get('/apiary', (c) => c.text('ok'))
  const app = new Hono().route('/backend', backend)

  expect(describeRoutes(app.routes)).toEqual([
    'GET /api/agents/:id backend internal',
    'GET /api/agents/:id/logs backend internal+signed-in',
    'GET /api/before backend public',
    'GET /apiary backend public',
  ])
})

test('describeRoutes lists the options of a route behind its guard, also below an error handler', () => {
  const subApp = new Hono()
    .post('/api/stop', endpoint({ ...TEST_ENDPOINT, scope: 'agents', worksOnFullDisk: true }), signedIn, (c) =>
      c.text('ok'),
    )
    .get('/api/stop', signedIn, (c) => c.text('ok'))
  subApp.onError((_error, c) => c.text('no'))

  expect(describeRoutes(new Hono().route('/web', subApp).routes)).toEqual([
    'GET /api/stop web signed-in',
    'POST /api/stop web signed-in scope=agents worksOnFullDisk',
  ])
})

test('describeRoutes keeps the guards of a sub-app with its own error handler', () => {
  const web = new Hono().get('/api/keys', signedIn, (c) => c.text('ok'))
  web.onError((_error, c) => c.text('no'))
  const app = new Hono().route('/web', web)

  expect(describeRoutes(app.routes)).toEqual(['GET /api/keys web signed-in'])
})

test('describeRoutes lists the first of two handlers for one path', () => {
  const web = new Hono().get('/a', signedIn, (c) => c.text('first')).get('/a', (c) => c.text('second'))
  expect(describeRoutes(new Hono().route('/web', web).routes)).toEqual(['GET /a web signed-in'])
})

test('web/docs/http-api.md names the path of every route', async () => {
  const read = (path: string) => Bun.file(join(import.meta.dir, '..', path)).text()
  const routes = (await read('tests/endpoints.txt')).trim().split('\n')
  const paths = [...new Set(routes.map((line) => line.split(' ')[1] ?? ''))]
  const named = new Set((await read('web/docs/http-api.md')).match(/\/[\w/:.*-]*/g))
  expect(paths.length).toBeGreaterThan(100)
  // The dashboard and the fallback route are not part of the API.
  expect(paths.filter((path) => !path.includes('*') && !named.has(path))).toEqual([])
})

test('every route path is written in a test besides the access matrix', async () => {
  const root = join(import.meta.dir, '..')
  const files = [...new Bun.Glob('{src,tests}/**/*.test.ts').scanSync(root)].filter(
    (file) => !file.startsWith('tests/matrix/'),
  )
  const texts = await Promise.all(files.map((file) => Bun.file(join(root, file)).text()))
  const routes = (await Bun.file(join(root, 'tests/endpoints.txt')).text()).trim().split('\n')
  const paths = [...new Set(routes.map((line) => line.split(' ')[1] ?? ''))]
  expect(paths.filter((path) => !texts.some((text) => text.includes(path)))).toEqual([])
})
