import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Hono } from 'hono'
import { z } from 'zod'
import { readConfig } from '../src/core/config.ts'
import { SCOPES } from '../src/core/scopes.ts'
import { CreatedKey } from '../src/features/accounts/keys/schemas.ts'
import { endpoint } from '../src/http/endpoint.ts'
import type { ApiName, BaseEnv } from '../src/http/env.ts'
import { type ApiDocument, examplesOf } from '../src/server/api-document/document.ts'
import { listRoutes } from '../src/server/api-document/routes.ts'
import { createEmptyApp } from '../src/server/empty-app.ts'
import { requireDocumented } from './harness/documents/documented.ts'
import { TEST_ENDPOINT } from './harness/documents/test-endpoint.ts'
import { testPlatform } from './harness/platform.ts'
import { bearer, json, read } from './harness/requests.ts'

const API_NAMES = ['web', 'backend', 'summarizer'] as const
const ROUTES = readFileSync(join(import.meta.dir, 'endpoints.txt'), 'utf8')
  .trim()
  .split('\n')
  .map(readRoute)

function readRoute(line: string) {
  const [method = '', path = '', api = '', guard = ''] = line.split(' ')
  return {
    name: `${method} ${path}`,
    method: method.toLowerCase(),
    path: path.replaceAll(/:(\w+)/g, '{$1}'),
    api,
    guard,
  }
}

async function readDocument(api: ApiName): Promise<ApiDocument> {
  const response = await testPlatform()[api].request('/openapi.json')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  const document: unknown = await response.json()
  return document as ApiDocument
}

test.each(API_NAMES)('GET /openapi.json: 200 with a valid OpenAPI 3.1 document on the %s port', async (api) => {
  const validated = await new Validator().validate(await readDocument(api))
  expect(validated.errors ?? []).toEqual([])
  expect(validated.valid).toBe(true)
})

test.each(API_NAMES)(
  'GET /openapi.json: 200 with every route of the %s port, its success, errors and authentication',
  async (api) => {
    const { paths } = await readDocument(api)
    const wrong: string[] = []
    for (const { method, path, guard } of ROUTES.filter((route) => route.api === api && !route.path.includes('*'))) {
      const operation = paths[path]?.[method]
      const statuses = Object.keys(operation?.responses ?? {})
      // `/mcp` responds with 405, because it has no event stream.
      const hasSuccess =
        statuses.some((status) => /^[123]/.test(status)) || (path === '/mcp' && statuses.includes('405'))
      const isGuarded = guard === 'public' || (operation?.security.length !== 0 && statuses.includes('401'))
      if (!hasSuccess || !isGuarded) wrong.push(`${method} ${path}: ${statuses.join(' ')}`)
    }
    expect(wrong).toEqual([])
    const known = new Set(ROUTES.filter((route) => route.api === api).map(({ method, path }) => `${method} ${path}`))
    const listed = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )
    expect(listed.filter((name) => !known.has(name))).toEqual([])
  },
)

test.each(['web', 'backend'] as const)(
  'GET /openapi.json: 200 with the scope that every route of the %s port requires of a restricted key',
  async (api) => {
    const platform = testPlatform()
    const { cookie } = await platform.signIn('ada@example.com', 'network')
    const create = async (scopes: readonly string[]) =>
      (await read(CreatedKey, platform.web.request('/api/keys', json('POST', { name: 'k', scopes }, cookie)))).key
    const all = await create(SCOPES)
    const withoutScope = new Map<string, string>()
    for (const scope of SCOPES) withoutScope.set(scope, await create(SCOPES.filter((other) => other !== scope)))
    const { paths } = await readDocument(api)
    const wrong: string[] = []
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const required = operation['x-required-scope']
        const acceptsKeys = operation.security.some((scheme) => 'apiKey' in scheme)
        if (acceptsKeys === (required === undefined)) wrong.push(`${method} ${path}: ${required}`)
        if (required === undefined || required === 'any') continue
        const headers = bearer(withoutScope.get(required) ?? all)
        const url = path.replaceAll(/\{\w+\}/g, 'x')
        const response = await platform[api].request(url, { method: method.toUpperCase(), headers })
        const isRefused = response.status === 403 && (await response.text()).includes('SCOPE_REQUIRED')
        if (!isRefused) wrong.push(`${method} ${path}: ${response.status}`)
      }
    }
    expect(wrong).toEqual([])
  },
)

test('GET /openapi.json: 200 with a summary for every operation, verb first and at most ten words, and a known tag', async () => {
  const documents = await Promise.all(API_NAMES.map(readDocument))
  const wrong = documents.flatMap(({ paths, tags, 'x-tagGroups': groups }) =>
    Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ summary, tags: [tag = ''] }) => {
        const isSentence = /^[A-Z][a-z]+s,? \S/.test(summary) && summary.split(' ').length <= 10
        return (
          !isSentence || !tags.some(({ name }) => name === tag) || !groups.some((group) => group.tags.includes(tag))
        )
      })
      .map(({ operationId, summary, tags: [tag] }) => `${operationId}: ${summary} (${tag})`),
  )
  expect(wrong).toEqual([])
})

test('every body that its schema does not describe fully has examples, which its route accepts', () => {
  const bodies = listRoutes(createEmptyApp(readConfig({})).routes).flatMap(({ method, path, parts }) =>
    parts.flatMap(({ target, schema }) => (target === 'json' ? [{ name: `${method} ${path}`, schema }] : [])),
  )
  const dull = bodies.filter(({ schema }) => examplesOf(schema).length === 0 && hasUntypedPlace(toInputSchema(schema)))
  expect(dull.map(({ name }) => name)).toEqual([])
  const refused = bodies.flatMap(({ name, schema }) =>
    examplesOf(schema).flatMap((example) => {
      const { error } = schema.safeParse(example)
      return error ? [`${name}: ${JSON.stringify(example)}: ${error.issues[0]?.message}`] : []
    }),
  )
  expect(refused).toEqual([])
  expect(toInputSchema(z.object({ a: z.unknown() }))).toSatisfy(hasUntypedPlace)
})

test('a request body forbids unknown fields only inside `config` objects', () => {
  const bodies = listRoutes(createEmptyApp(readConfig({})).routes).flatMap(({ method, path, parts }) =>
    parts.flatMap(({ target, schema }) => (target === 'json' ? [{ name: `${method} ${path}`, schema }] : [])),
  )
  const strict = bodies.flatMap(({ name, schema }) => listStrict(toInputSchema(schema)).map((at) => `${name}${at}`))
  expect([...new Set(strict)].sort()).toEqual([
    'POST /api/agents config',
    'POST /api/agents/provision config',
    'POST /api/deployments config',
    'PUT /api/agents/:id config',
    'PUT /api/agents/:id/config',
  ])
})

/** Returns the paths in a JSON Schema at which unknown fields are an error. */
function listStrict(schema: unknown, at = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'additionalProperties' in schema && schema.additionalProperties === false ? [at] : []
  const inner = Object.entries(schema).flatMap(([key, value]) =>
    key === 'properties' && typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, property]) => listStrict(property, `${at} ${name}`))
      : listStrict(value, at),
  )
  return [...own, ...inner]
}

function toInputSchema(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
}

/** Returns whether the schema has a value of any type. */
function hasUntypedPlace(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const { default: _default, ...said } = { default: null, ...schema }
  return Object.entries(said).some(([key, value]) =>
    key === 'properties' && typeof value === 'object' && value !== null
      ? Object.values(value).some((property) => isEmpty(property) || hasUntypedPlace(property))
      : (['additionalProperties', 'items'].includes(key) && isEmpty(value)) || hasUntypedPlace(value),
  )
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

test('GET /openapi.json: 200 with request bodies and responses that match the schemas', async () => {
  const { paths } = await readDocument('web')
  const create = paths['/api/keys']?.post
  const channel = paths['/api/notices/channels']?.post?.requestBody?.content['application/json']
  expect(channel?.examples?.example3).toEqual({ value: { kind: 'ntfy', topic: 'my-agents' } })
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

test('GET /openapi.json: 200 with 402, 404, 409, 429 and 500 for POST /v1/bus/send', async () => {
  const { paths } = await readDocument('backend')
  const statuses = Object.keys(paths['/v1/bus/send']?.post?.responses ?? {})
  expect(statuses).toEqual(expect.arrayContaining(['200', '402', '404', '409', '429', '500']))
})

test('requireDocumented throws when a response is not declared by its route', async () => {
  const app = new Hono<BaseEnv>().basePath('/web')
  const KeyName = z.object({ name: z.string() })
  app.get('/whole', endpoint({ ...TEST_ENDPOINT, responses: { 200: KeyName } }), (c) => c.json({ name: 'a' }))
  app.get('/more', endpoint({ ...TEST_ENDPOINT, responses: { 200: KeyName } }), (c) =>
    c.json({ name: 'a', secret: 'b' }),
  )
  app.get('/other', endpoint({ ...TEST_ENDPOINT, responses: { 200: KeyName } }), (c) => c.json({ name: 1 }))
  app.get('/status', endpoint({ ...TEST_ENDPOINT, responses: { 200: KeyName }, errors: ['not_found'] }), (c) =>
    c.json({ error: 'no' }, 409),
  )
  app.get('/known', endpoint({ ...TEST_ENDPOINT, responses: { 200: KeyName }, errors: ['not_found'] }), (c) =>
    c.json({ error: 'no' }, 404),
  )
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
  expect(hold('/nothing')).rejects.toThrow('declares no responses')
})
