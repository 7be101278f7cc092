import { zValidator } from '@hono/zod-validator'
import { type ZodType, z } from 'zod'
import { AppError } from '../core/errors.ts'
import { hasBody, hasJsonType, receiveText } from './bodies/body.ts'
import { describeMiddleware } from './endpoint.ts'

/**
 * Validates one part of the request; unknown fields are dropped. Receives the body, so it comes after guards and rate
 * limits. `isUsual` may accept bodies without the schema, if the schema would return them unchanged.
 * @throws AppError `invalid` with the first issue and `extra`, or for a JSON body with another content type.
 */
export function validate<Target extends 'json' | 'query', Schema extends ZodType>(
  target: Target,
  schema: Schema,
  extra: Record<string, unknown> = {},
  isUsual: (body: unknown) => boolean = () => false,
) {
  const check = zValidator(target, schema, (result) => {
    if (!result.success) throw new AppError('invalid', result.error.issues[0]?.message ?? 'Invalid request', extra)
  })
  if (target !== 'json') return describeMiddleware(check, { validates: { target, schema, isOptional: false } })
  const parse = (body: unknown) => {
    const parsed = schema.safeParse(body)
    if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid request', extra)
    return parsed.data
  }
  // The validator of Hono reads and checks bodies in ten asynchronous steps.
  const guard: typeof check = async (c, next) => {
    if (!hasJsonType(c)) throw new AppError('invalid', 'Content-Type must be application/json', extra)
    const body = parseJson(await receiveText(c))
    c.req.addValidatedData('json', (isUsual(body) ? body : parse(body)) as object)
    await next()
  }
  return describeMiddleware(guard, { validates: { target, schema, isOptional: false } })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AppError('invalid', 'Malformed JSON in request body', {}, { cause: error })
  }
}

/** `validate` for an optional JSON body; a missing one is `{}`. */
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

/** The schema of requests without a body. */
export const NoBody = z.object({})
