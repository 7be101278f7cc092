import { zValidator } from '@hono/zod-validator'
import type { ZodType } from 'zod'
import { AppError } from '../core/errors.ts'
import { hasJsonType } from './body.ts'

/**
 * Checks one part of the request against `schema`; fields it does not name are stripped (rulings, 11).
 * @throws AppError `invalid` with the first problem's message and `extra`, or for a JSON body sent as something else.
 */
export function validate<Target extends 'json' | 'query', Schema extends ZodType>(
  target: Target,
  schema: Schema,
  extra: Record<string, unknown> = {},
) {
  return zValidator(target, schema, (result, c) => {
    if (target === 'json' && !hasJsonType(c))
      throw new AppError('invalid', 'Content-Type must be application/json', extra)
    if (!result.success) throw new AppError('invalid', result.error.issues[0]?.message ?? 'Invalid request', extra)
  })
}

/** `validate` for a JSON body that may be left out: then it counts as `{}`. */
export function validateAnyBody<Schema extends ZodType>(schema: Schema) {
  const check = validate('json', schema)
  const guard: typeof check = async (c, next) => {
    if (c.req.raw.body !== null && c.req.header('content-length') !== '0') return check(c, next)
    const parsed = schema.safeParse({})
    if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid request')
    c.req.addValidatedData('json', parsed.data as object)
    return next()
  }
  return guard
}
