import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../dialect.ts'

/** Returns an error that names the field of a request, as Anthropic does. */
export function invalidField(path: string, problem: string): AppError {
  return new AppError('invalid', `${path}: ${problem}`)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
