import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Hono } from 'hono'
import { z } from 'zod'
import type { ApiDocument } from '../src/apps/api-document/document.ts'
import { answers } from '../src/http/answers.ts'
import type { BaseEnv, Face } from '../src/http/env.ts'
import { requireDocumented } from './harness/documents/documented.ts'
import { testPlatform } from './harness/platform.ts'

const FACES = ['web', 'backend', 'summarizer'] as const
const ROUTES = readFileSync(join(import.meta.dir, 'endpoints.txt'), 'utf8')
  .trim()
  .split('\n')
  .map(readRoute)

function readRoute(line: string) {
  const [method = '', path = '', face = '', guard = ''] = line.split(' ')
  return { method: method.toLowerCase(), path: path.replaceAll(/:(\w+)/g, '{$1}'), face, guard }
}

async function readDocument(face: Face): Promise<ApiDocument> {
  const response = await testPlatform()[face].request('/openapi.json')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  const document: unknown = await response.json()
  return document as ApiDocument
}

test.each(FACES)('GET /openapi.json: 200 with a valid OpenAPI 3.1 document on the %s port', async (face) => {
  const validated = await new Validator().validate(await readDocument(face))
  expect(validated.errors ?? []).toEqual([])
  expect(validated.valid).toBe(true)
})

test.each(FACES)(
  'GET /openapi.json: every route of the %s port, each with a success, its errors, its way in',
  async (face) => {
    const { paths } = await readDocument(face)
    const wrong: string[] = []
    for (const { method, path, guard } of ROUTES.filter((route) => route.face === face && !route.path.includes('*'))) {
      const operation = paths[path]?.[method]
      const statuses = Object.keys(operation?.responses ?? {})
      // `/mcp` says by 405 that it has no stream of its own.
      const hasSuccess =
        statuses.some((status) => /^[23]/.test(status)) || (path === '/mcp' && statuses.includes('405'))
      const isGuarded = guard === 'public' || (operation?.security.length !== 0 && statuses.includes('401'))
      if (!hasSuccess || !isGuarded) wrong.push(`${method} ${path}: ${statuses.join(' ')}`)
    }
    expect(wrong).toEqual([])
    const known = new Set(ROUTES.filter((route) => route.face === face).map(({ method, path }) => `${method} ${path}`))
    const listed = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )
    expect(listed.filter((name) => !known.has(name))).toEqual([])
  },
)

test('GET /openapi.json: what a body takes and an answer gives is what the schemas say', async () => {
  const { paths } = await readDocument('web')
  const create = paths['/api/keys']?.post
  expect(create?.security).toEqual([{ session: [] }])
  expect(create?.requestBody?.content['application/json']?.schema).toMatchObject({
    required: ['name'],
    properties: { name: { type: 'string', maxLength: 64 } },
  })
  expect(Object.keys(create?.responses ?? {}).sort()).toEqual([
    ...['201', '400', '401', '403', '408', '413', '429', '503', '507'],
  ])
  expect(paths['/api/agents/{id}']?.get?.parameters).toEqual([
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
  ])
})

test('an answer that its route does not declare fails the test that asked for it', async () => {
  const app = new Hono<BaseEnv>().basePath('/web')
  const KeyName = z.object({ name: z.string() })
  app.get('/whole', answers({ 200: KeyName }), (c) => c.json({ name: 'a' }))
  app.get('/more', answers({ 200: KeyName }), (c) => c.json({ name: 'a', secret: 'b' }))
  app.get('/other', answers({ 200: KeyName }), (c) => c.json({ name: 1 }))
  app.get('/status', answers({ 200: KeyName }, 'not_found'), (c) => c.json({ error: 'no' }, 409))
  app.get('/known', answers({ 200: KeyName }, 'not_found'), (c) => c.json({ error: 'no' }, 404))
  app.get('/nothing', (c) => c.json({}))
  const hold = async (path: string) => {
    const response = await app.request(`/web${path}`)
    return requireDocumented(app, 'web', new Request(`http://localhost${path}`), response)
  }

  await hold('/whole')
  await hold('/known')
  expect(hold('/more')).rejects.toThrow('fields that are not declared')
  expect(hold('/other')).rejects.toThrow('what it does not declare')
  expect(hold('/status')).rejects.toThrow('answered 409, which it does not declare')
  expect(hold('/nothing')).rejects.toThrow('declares no answers')
})
