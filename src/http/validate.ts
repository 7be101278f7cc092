import { zValidator } from '@hono/zod-validator'
import { type ZodType, z } from 'zod'
import { AppError } from '../core/errors.ts'
import { hasBody, hasJsonType, receiveText } from './bodies/body.ts'
import { describeMiddleware } from './endpoint.ts'

/**
 * Checks one part of the request against `schema`; fields it does not name are dropped. A body is received
 * here: guards and rate limits stand before.
 * @throws AppError `invalid` with the first problem's message and `extra`, or for a JSON body sent as something else.
 */
export function validate<Target extends 'json' | 'query', Schema extends ZodType>(
  target: Target,
  schema: Schema,
  extra: Record<string, unknown> = {},
) {
  const check = zValidator(target, schema, (result) => {
    if (!result.success) throw new AppError('invalid', result.error.issues[0]?.message ?? 'Invalid request', extra)
  })
  if (target !== 'json') return describeMiddleware(check, { validates: { target, schema, isOptional: false } })
  const guard: typeof check = async (c, next) => {
    if (!hasJsonType(c)) throw new AppError('invalid', 'Content-Type must be application/json', extra)
    await receiveText(c)
    return check(c, next)
  }
  return describeMiddleware(guard, { validates: { target, schema, isOptional: false } })
}

/** `validate` for a JSON body that may be left out: then it counts as `{}`. */
export function validateAnyBody<Schema extends ZodType>(schema: Schema) {
  const check = validate('json', schema)
  const guard: typeof check = async (c, next) => {
    if (hasBody(c)) return check(c, next)
    const parsed = schema.safeParse({})
    if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid request')
    c.req.addValidatedData('json', parsed.data as object)
    return next()
  }
  return describeMiddleware(guard, { validates: { target: 'json', schema, isOptional: true } })
}

/** The body of a request that takes none. */
export const NoBody = z.object({})
