import type { Hono } from 'hono'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { type ZodType, z } from 'zod'
import { partsOfBody } from '../../../src/http/endpoint.ts'
import type { BaseEnv } from '../../../src/http/env.ts'
import { statusOf } from '../../../src/http/errors.ts'
import { errorKindsOf } from '../../../src/server/api-document/document.ts'
import { type DeclaredRoute, listRoutes, type Registered } from '../../../src/server/api-document/routes.ts'

type Documented = { route: DeclaredRoute; statuses: ReadonlySet<number> }

/** Cached by the router of the app, because listing all routes of an app takes longer than a request. */
const known = new WeakMap<object, Map<string, Documented>>()

/**
 * Checks a response against its route's declaration: a documented status, and a body of exactly the declared shape.
 * Responses without a route and status 500 are not checked.
 * @throws Error that describes the difference.
 */
export async function requireDocumented(
  app: Hono<BaseEnv>,
  api: string,
  request: Request,
  response: Response,
): Promise<void> {
  const found = findRoute(app, api, request)
  if (!found || response.status === 500) return
  const { route, statuses } = found
  const name = `${route.method} ${route.path} (${api})`
  const answer = route.endpoint?.responses[response.status]
  if (!route.endpoint) throw new Error(`${name} declares no responses`)
  if (answer === undefined && !statuses.has(response.status))
    throw new Error(`${name} answered ${response.status}, which it does not declare: ${await response.clone().text()}`)
  if (request.method === 'HEAD' || answer === undefined) return
  const { schema, types } = partsOfBody(answer)
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (schema && type === 'application/json') requireShape(name, schema, await response.clone().json())
  else if (type !== '' && !types.includes(type)) throw new Error(`${name} answered ${type}, which it does not declare`)
}

function requireShape(name: string, schema: ZodType, body: unknown): void {
  const parsed = schema.safeParse(body)
  if (isWhole(schema, body)) return
  const problem = parsed.success ? 'it has fields that are not declared' : parsed.error.message
  throw new Error(`${name} answered what it does not declare: ${problem}\n${JSON.stringify(body).slice(0, 2000)}`)
}

/** Checks each option of a union, because Zod accepts the first that matches and drops the fields it does not know. */
function isWhole(schema: z.core.$ZodType, body: unknown): boolean {
  if (schema instanceof z.ZodUnion) return schema.options.some((option) => isWhole(option, body))
  const parsed = z.safeParse(schema, body)
  return parsed.success && Bun.deepEquals(parsed.data, body)
}

function findRoute(app: Hono<BaseEnv>, api: string, request: Request): Documented | undefined {
  const { pathname } = new URL(request.url)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const path = pathname === '/' ? `/${api}` : `/${api}${pathname}`
  // Includes other routes that match this path; describing the first one drops them.
  const matched = app.router.match(method, path)[0].map(([[, registered]]) => registered satisfies Registered)
  const first = matched.find(({ handler }) => !isMiddleware(findTargetHandler(handler)))
  if (first === undefined || first.path.includes('*')) return undefined
  const routes = known.get(app.router) ?? new Map<string, Documented>()
  known.set(app.router, routes)
  const key = `${first.method} ${first.path}`
  const found = routes.get(key) ?? describeFirst(matched)
  if (found) routes.set(key, found)
  return found
}

function describeFirst(matched: readonly Registered[]): Documented | undefined {
  const [route] = listRoutes(matched)
  return route && { route, statuses: new Set<number>(errorKindsOf(route).map(statusOf)) }
}
