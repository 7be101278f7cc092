import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'

/** Returns an error that names the field of a request, as Anthropic does. */
export function invalidField(path: string, problem: string): AppError {
  return new AppError('invalid', `${path}: ${problem}`)
}

/** @throws AppError `invalid` */
export function readObject(value: unknown, path: string): JsonObject {
  if (isJsonObject(value)) return value
  throw invalidField(path, 'Input should be an object')
}

/** @throws AppError `invalid` */
export function readList(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw invalidField(path, 'Input should be a list')
}

/** @throws AppError `invalid` */
export function readString(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  throw invalidField(path, 'Input should be a string')
}

/** Requires that no other field than `known` is set. @throws AppError `invalid` naming the field. */
export function requireKnownFields(value: JsonObject, known: readonly string[], path: string): void {
  for (const [field, given] of Object.entries(value)) {
    if (given !== undefined && given !== null && !known.includes(field)) {
      throw invalidField(path === '' ? field : `${path}.${field}`, 'cannot be passed on to this model')
    }
  }
}
