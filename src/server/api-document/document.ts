import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { ErrorKind } from '../../core/errors.ts'
import type { Scope } from '../../core/scopes.ts'
import { VERSION } from '../../core/version.ts'
import { API_TAGS } from '../../http/api-tags.ts'
import { partsOfBody, type ResponseBody, type ValidatedPart } from '../../http/endpoint.ts'
import type { ApiName } from '../../http/env.ts'
import { statusOf } from '../../http/errors.ts'
import { SESSION_COOKIE } from '../../http/sessions/cookie.ts'
import type { DeclaredRoute } from './routes.ts'

/** JSON Schema as zod produces it. */
export type Schema = Record<string, unknown>
export type Content = Record<string, { schema?: Schema; examples?: Record<string, { value: unknown }> }>
export type Parameter = { name: string; in: 'path' | 'query'; required: boolean; schema: Schema }
export type ApiOperation = {
  operationId: string
  summary: string
  tags: string[]
  security: Record<string, string[]>[]
  'x-required-scope'?: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { description: string; content?: Content }>
}
export type ApiDocument = {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  tags: { name: string; description: string }[]
  /** Domains, by which pages that show the document group its tags. */
  'x-tagGroups': { name: string; tags: string[] }[]
  paths: Record<string, Record<string, ApiOperation>>
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, Schema> }
}

const ROUTES_AT_ONCE = 10

/** Error schema; `/v1` uses the error object of the OpenAI API. */
const ApiError = z.looseObject({
  error: z.union([z.string(), z.looseObject({ message: z.string() })]),
  code: z.string().optional(),
})

const SECURITY_SCHEMES: Record<string, Schema> = {
  session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE, description: 'The cookie of a signed-in browser.' },
  apiKey: { type: 'http', scheme: 'bearer', description: "A user's key, sk_…; its scopes may limit it." },
  internalKey: { type: 'http', scheme: 'bearer', description: 'INTERNAL_API_KEY of the operator.' },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'METRICS_TOKEN; while it is not set, callers on the same machine need none.',
  },
  agentToken: { type: 'http', scheme: 'bearer', description: 'The platform token of an agent.' },
}

const DESCRIPTIONS: Readonly<Record<ApiName, string>> = {
  web: 'What the dashboard and users call: a session, or a key of their own.',
  backend: 'What services and agents call: the key of the operator, keys of users, tokens of agents.',
  summarizer: 'Pages as text.',
}

/**
 * Writes the OpenAPI 3.1 document of one API from its route declarations. Excludes the dashboard (`/*`). Yields between
 * schemas, which take long, so that other requests are served.
 */
export async function writeApiDocument(routes: readonly DeclaredRoute[], api: ApiName): Promise<ApiDocument> {
  const schemas: Record<string, Schema> = {}
  const paths: ApiDocument['paths'] = {}
  const toSchema = (schema: z.ZodType, io: 'input' | 'output') => liftDefinitions(schema, io, schemas)
  schemas.Error = toSchema(ApiError, 'output')
  for (const [index, route] of routes.entries()) {
    if (index % ROUTES_AT_ONCE === 0) await setImmediate()
    if (route.api !== api || route.path.includes('*')) continue
    const path = route.path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: toOperation(route, path, toSchema) }
  }
  return {
    openapi: '3.1.0',
    info: { title: `Stead, ${api}`, version: VERSION, description: DESCRIPTIONS[api] },
    ...toTags(paths),
    paths,
    components: { schemas, securitySchemes: SECURITY_SCHEMES },
  }
}

type ToSchema = (schema: z.ZodType, io: 'input' | 'output') => Schema

function toOperation(route: DeclaredRoute, path: string, toSchema: ToSchema): ApiOperation {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  if (!route.endpoint) throw new Error(`${route.method} ${route.path} (${route.api}) has no endpoint declaration`)
  const { summary, tag, bodyType } = route.endpoint
  const scope = requiredScopeOf(route)
  const parameters = [...toPathParameters(path), ...route.parts.flatMap((part) => toQueryParameters(part, toSchema))]
  const body = route.parts.find(({ target }) => target === 'json')
  return {
    operationId: [route.method.toLowerCase(), ...words.map(capitalize)].join(''),
    summary,
    tags: [tag],
    security: securityOf(route),
    ...(scope && { 'x-required-scope': scope }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !body.isOptional, content: toBody(body.schema, toSchema) } }),
    ...(bodyType && { requestBody: { required: true, content: { [bodyType]: {} } } }),
    responses: toResponses(route, toSchema),
  }
}

/** Returns the tags that `paths` use, grouped by domain. */
function toTags(paths: ApiDocument['paths']): Pick<ApiDocument, 'tags' | 'x-tagGroups'> {
  const used = new Set(Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(({ tags }) => tags)))
  const groups = Object.entries(API_TAGS).map(([name, tags]) => ({
    name,
    tags: Object.entries(tags).filter(([tag]) => used.has(tag)),
  }))
  return {
    tags: groups.flatMap(({ tags }) => tags.map(([name, description]) => ({ name, description }))),
    'x-tagGroups': groups
      .filter(({ tags }) => tags.length > 0)
      .map(({ name, tags }) => ({ name, tags: tags.map(([tag]) => tag) })),
  }
}

/** zod drops the examples of a schema with a transform, so they are added separately. */
function toBody(body: z.ZodType, toSchema: ToSchema): Content {
  const { examples: _examples, ...schema } = toSchema(body, 'input')
  const examples = examplesOf(body).map((value, index) => [`example${index + 1}`, { value }] as const)
  return {
    'application/json': { schema, ...(examples.length > 0 && { examples: Object.fromEntries(examples) }) },
  }
}

/** Returns the examples given by `.meta({ examples: [] })`. */
export function examplesOf(schema: z.ZodType): readonly unknown[] {
  const examples = schema.meta()?.examples
  return Array.isArray(examples) ? examples : []
}

function toResponses(route: DeclaredRoute, toSchema: ToSchema): ApiOperation['responses'] {
  const kinds = Map.groupBy(errorKindsOf(route), statusOf)
  const errors = [...kinds].map(([status, names]) => [
    status,
    {
      description: names.map(toWords).join(', '),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ])
  const declared = Object.entries(route.endpoint?.responses ?? {}).map(([status, answer]) => [
    status,
    { description: describeStatus(Number(status), kinds), ...toContent(answer, toSchema) },
  ])
  return Object.fromEntries([...errors, ...declared])
}

function describeStatus(status: number, kinds: ReadonlyMap<number, ErrorKind[]>): string {
  if (status < 300) return 'Success'
  return status < 400 ? 'Redirect' : (kinds.get(status)?.map(toWords).join(', ') ?? 'Refused')
}

function toContent(answer: ResponseBody, toSchema: ToSchema): { content?: Content } {
  const { schema, types } = partsOfBody(answer)
  const content: Content = Object.fromEntries(types.map((type) => [type, {}]))
  if (schema) content['application/json'] = { schema: toSchema(schema, 'output') }
  return Object.keys(content).length > 0 ? { content } : {}
}

function toPathParameters(path: string): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function toQueryParameters(part: ValidatedPart, toSchema: ToSchema): Parameter[] {
  if (part.target !== 'query') return []
  const schema = z.object({ properties: z.record(z.string(), z.record(z.string(), z.unknown())).default({}) })
  const written = toSchema(part.schema, 'input')
  const required = new Set(Array.isArray(written.required) ? written.required : [])
  return Object.entries(schema.parse(written).properties).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.has(name),
    schema: property,
  }))
}

/** Moves named parts of a schema to the components: references resolve from the document root. */
function liftDefinitions(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, Schema>): Schema {
  const { $schema, $defs, ...written } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  const isLifted = $defs !== undefined
  if (isLifted) Object.assign(schemas, toReferences($defs))
  return isLifted ? toReferences(written) : written
}

function toReferences(value: object): Schema {
  return JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'))
}

function capitalize(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}

function toWords(kind: ErrorKind): string {
  return kind.replaceAll('_', ' ')
}

/** The security schemes a guard accepts, the errors it throws, and the scope it requires of keys on all its routes. */
type Admission = { schemes: readonly string[]; errors: readonly ErrorKind[]; scope?: Scope }

const BEARERS: Admission = {
  schemes: ['apiKey', 'agentToken', 'internalKey'],
  scope: 'models',
  errors: ['unauthenticated', 'forbidden', 'payment_required'],
}

/** Admissions by guard name. */
const ADMISSIONS: Readonly<Record<string, Admission>> = {
  'signed-in': { schemes: ['session', 'apiKey'], errors: ['unauthenticated', 'forbidden'] },
  session: { schemes: ['session'], errors: ['unauthenticated'] },
  admin: { schemes: ['session'], errors: ['unauthenticated', 'forbidden'] },
  'internal-key': { schemes: ['internalKey'], errors: ['unauthenticated', 'forbidden', 'misconfigured'] },
  machine: { schemes: ['agentToken'], errors: ['unauthenticated'] },
  'machine-or-owner': { schemes: ['agentToken', 'apiKey'], errors: ['unauthenticated', 'forbidden', 'not_found'] },
  'metrics-token': { schemes: ['metricsToken'], errors: ['unauthenticated', 'forbidden'] },
  installer: { schemes: ['apiKey', 'internalKey'], errors: ['unauthenticated', 'forbidden', 'misconfigured'] },
  // Disabled tools are forbidden to the agent.
  'agent-token': { schemes: ['agentToken'], errors: ['unauthenticated', 'forbidden'] },
  bearer: BEARERS,
  'any-bearer': BEARERS,
  'unplanned-bearer': BEARERS,
  'planned-bearer': BEARERS,
}

/** Errors of receiving a body. */
const BODY_ERRORS: readonly ErrorKind[] = ['invalid', 'too_large', 'too_slow', 'unavailable']

/** Returns the alternative security schemes; empty for a public route. @throws Error for an unknown guard. */
export function securityOf(route: DeclaredRoute): Record<string, string[]>[] {
  return admissionsOf(route).flatMap(({ schemes }) => schemes.map((scheme) => ({ [scheme]: [] })))
}

/**
 * Returns the scope that a restricted API key needs. `any`: every key is accepted; `unrestricted`: only keys without
 * scopes are; null: the route accepts no API key.
 */
export function requiredScopeOf(route: DeclaredRoute): Scope | 'any' | 'unrestricted' | null {
  const admission = admissionsOf(route).find(({ schemes }) => schemes.includes('apiKey'))
  if (!admission) return null
  return admission.scope ?? route.endpoint?.scope ?? (route.method === 'GET' ? 'read' : 'unrestricted')
}

/** Returns every error kind of the route, its guards and its middleware. */
export function errorKindsOf(route: DeclaredRoute): ErrorKind[] {
  const kinds = new Set<ErrorKind>(route.endpoint?.errors)
  const add = (more: readonly ErrorKind[]) => {
    for (const kind of more) kinds.add(kind)
  }
  add(route.errors)
  for (const { errors } of admissionsOf(route)) add(errors)
  if (route.parts.some(({ target }) => target === 'query')) add(['invalid'])
  const isUnsafe = route.method !== 'GET'
  if (isUnsafe) add(BODY_ERRORS.filter((kind) => kind === 'too_large' || hasCheckedBody(route)))
  // CSRF protection of the session cookie.
  if (isUnsafe && route.api === 'web') add(['forbidden'])
  if (isUsersWrite(route)) add(['storage_full'])
  return [...kinds].sort()
}

function hasCheckedBody(route: DeclaredRoute): boolean {
  return route.parts.some(({ target }) => target === 'json')
}

/** Mirrors `refuseWritesOnFullDisk`. */
function isUsersWrite({ method, api, endpoint }: DeclaredRoute): boolean {
  const isWrite = method !== 'GET' && method !== 'DELETE'
  return isWrite && api !== 'summarizer' && !endpoint?.worksOnFullDisk
}

function admissionsOf({ method, path, guards }: DeclaredRoute): Admission[] {
  return guards.map((name) => {
    const admission = ADMISSIONS[name]
    if (!admission) throw new Error(`${method} ${path}: the guard ${name} has no admission`)
    return admission
  })
}
