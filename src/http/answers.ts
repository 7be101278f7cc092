import type { MiddlewareHandler } from 'hono'
import { type ZodType, z } from 'zod'
import type { ErrorKind } from '../core/errors.ts'
import type { BaseEnv } from './env.ts'

/** What an answer carries: JSON of this shape, bytes of this media type, one of several, or null for a status alone. */
export type Answer = ZodType | string | readonly (ZodType | string)[] | null
/** What a route answers by status, errors with a body of their own included, and the other errors of its own. */
export type Answers = { bodies: Readonly<Record<number, Answer>>; errors: readonly ErrorKind[] }
/** One part of a request that is checked against a schema before the handler runs. */
export type CheckedPart = { target: 'json' | 'query'; schema: ZodType; isOptional: boolean }

/** The answer of what was done and has nothing to tell. */
export const Done = z.object({ success: z.literal(true) })
/** What a webhook is told: the event is kept. */
export const Received = z.object({ received: z.literal(true) })

const answersOf = new WeakMap<object, Answers>()
const refusalsOf = new WeakMap<object, readonly ErrorKind[]>()
const partsOf = new WeakMap<object, CheckedPart>()

/**
 * Declares what a route answers, once, where it is registered: `app.get(path, answers({ 200: KeyList }), guard, …)`. The
 * API document is made of it, and the platform of the tests holds every answer to it.
 */
export function answers(bodies: Answers['bodies'], ...errors: ErrorKind[]): MiddlewareHandler<BaseEnv> {
  const declaration: MiddlewareHandler<BaseEnv> = (_c, next) => next()
  answersOf.set(declaration, { bodies, errors })
  return declaration
}

/** Says of a middleware which errors it may answer with; it works as before. */
export function refuses<Middleware extends object>(middleware: Middleware, ...kinds: ErrorKind[]): Middleware {
  refusalsOf.set(middleware, kinds)
  return middleware
}

/** Says of a middleware which part of the request it checks; it works as before. */
export function checks<Middleware extends object>(middleware: Middleware, part: CheckedPart): Middleware {
  partsOf.set(middleware, part)
  return middleware
}

/** What `answers` gave this very function, or undefined. */
export function declaredAnswers(handler: object): Answers | undefined {
  return answersOf.get(handler)
}

/** What `refuses` said of this very function. */
export function declaredRefusals(handler: object): readonly ErrorKind[] {
  return refusalsOf.get(handler) ?? []
}

/** What `checks` said of this very function, or undefined. */
export function checkedPart(handler: object): CheckedPart | undefined {
  return partsOf.get(handler)
}

/** The schema of an answer in JSON, if it may be that, and the other media types that it may have. */
export function partsOfAnswer(answer: Answer): { schema: ZodType | null; types: string[] } {
  const parts = answer === null ? [] : isList(answer) ? answer : [answer]
  return {
    schema: parts.find((part) => typeof part !== 'string') ?? null,
    types: parts.filter((part) => typeof part === 'string'),
  }
}

function isList(answer: NonNullable<Answer>): answer is readonly (ZodType | string)[] {
  return Array.isArray(answer)
}
