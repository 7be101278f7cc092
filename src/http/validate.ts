import { zValidator } from '@hono/zod-validator'
import type { ZodType } from 'zod'
import { AppError } from '../core/errors.ts'
import { hasJsonType } from './body.ts'

/**
 * Checks one part of the request against `schema`; fields it does not name are stripped (rulings, 11).
 * @throws AppError `invalid` with the first problem's message, or for a JSON body sent as something else.
 */
export function validate<Target extends 'json' | 'query', Schema extends ZodType>(target: Target, schema: Schema) {
  return zValidator(target, schema, (result, c) => {
    if (target === 'json' && !hasJsonType(c)) throw new AppError('invalid', 'Content-Type must be application/json')
    if (!result.success) throw new AppError('invalid', result.error.issues[0]?.message ?? 'Invalid request')
  })
}
