import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { type ZodType, z } from 'zod'
import type { ErrorKind } from '../core/errors.ts'
import type { Scope } from '../core/scopes.ts'
import type { ApiTag } from './api-tags.ts'
import type { AnswerError, BaseEnv } from './env.ts'

/** A response body: JSON of a schema, bytes of a media type, one of several, or null for none. */
export type ResponseBody = ZodType | string | readonly (ZodType | string)[] | null

/** The responses of a route by status, and the kinds of errors its handler throws. */
export type Responses = { responses: Readonly<Record<number, ResponseBody>>; errors?: readonly ErrorKind[] }

/** Limits and exceptions of a route. Omitted options have the strict default. */
export type RouteOptions = {
  /**
   * The scope a restricted key needs; `any` accepts every key. By default GET needs `read` and other methods an
   * unrestricted key.
   */
  scope?: Scope | 'any'
  /** The media type of a request body that is read without a schema. */
  bodyType?: string
  /** Maximum body size when it exceeds the general limit of 1 MB. */
  maxBodyBytes?: number
  /** Maximum number of values in a JSON body when it exceeds the general limit. */
  maxBodyValues?: number
  /** Refuses cross-site requests even without a session. Other routes refuse them only with one. */
  signsIn?: true
  /** Accepts writes while the disk is full. */
  worksOnFullDisk?: true
}

/** The declaration of a route. The OpenAPI document, the HTTP API chapter and `tests/endpoints.txt` are generated from it. */
export type Endpoint = { summary: string; tag: ApiTag } & Responses & RouteOptions

/** A part of the request that is validated before the handler runs. */
export type ValidatedPart = { target: 'json' | 'query'; schema: ZodType; isOptional: boolean }

/** The facts a middleware declares about itself. */
type MiddlewareDescription = {
  /** Name of the guard, as `tests/endpoints.txt` shows it. */
  guard?: string
  errors?: readonly ErrorKind[]
  validates?: ValidatedPart
}

/** The response of a request that succeeded and has no other result. */
export const Done = z.object({ success: z.literal(true) })
/** The response to a webhook that was stored. */
export const Received = z.object({ received: z.literal(true) })

const ENDPOINT = Symbol('endpoint')
const DESCRIPTION = Symbol('description')
type Described = { [ENDPOINT]?: Endpoint; [DESCRIPTION]?: MiddlewareDescription }

/**
 * Declares a route where it is registered: `app.get(path, endpoint({ … }), guard, validate(…), handler)`. The test
 * platform checks every response against it. `answerError` answers errors of what follows in the route's own form.
 */
export function endpoint(declaration: Endpoint, answerError?: AnswerError): MiddlewareHandler<BaseEnv> {
  const middleware: MiddlewareHandler<BaseEnv> = (c, next) => {
    if (answerError) c.set('answerError', answerError)
    return next()
  }
  return Object.assign(middleware, { [ENDPOINT]: declaration })
}

/** Adds a description to a middleware; several calls merge. */
export function describeMiddleware<Middleware extends object>(
  middleware: Middleware,
  description: MiddlewareDescription,
): Middleware {
  return Object.assign(middleware, { [DESCRIPTION]: { ...descriptionOf(middleware), ...description } })
}

/** Returns the declaration if `handler` was created by `endpoint`. */
export function endpointOf(handler: object): Endpoint | undefined {
  return (handler as Described)[ENDPOINT]
}

/** Returns the description given by `describeMiddleware`. */
export function descriptionOf(handler: object): MiddlewareDescription {
  return (handler as Described)[DESCRIPTION] ?? {}
}

/** Returns the options of the route that will handle the request; empty when it declares none or no route matches. */
export function findRouteOptions(c: Context): RouteOptions {
  const known: RouteOptions | undefined = c.get('routeOptions')
  if (known) return known
  const found = searchRouteOptions(c)
  c.set('routeOptions', found)
  return found
}

function searchRouteOptions(c: Context): RouteOptions {
  for (const { handler } of matchedRoutes(c)) {
    const target = findTargetHandler(handler)
    const declaration = endpointOf(target)
    if (declaration) return declaration
    // The first handler responds, so later routes for the same path do not count.
    if (!isMiddleware(target)) return {}
  }
  return {}
}

/** Splits a response body into its JSON schema, if any, and its media types. */
export function partsOfBody(body: ResponseBody): { schema: ZodType | null; types: string[] } {
  const parts = body === null ? [] : isList(body) ? body : [body]
  return {
    schema: parts.find((part) => typeof part !== 'string') ?? null,
    types: parts.filter((part) => typeof part === 'string'),
  }
}

function isList(body: NonNullable<ResponseBody>): body is readonly (ZodType | string)[] {
  return Array.isArray(body)
}
