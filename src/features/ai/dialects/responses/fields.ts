import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'

/** OpenAI's codes for requests that it rejects. */
type ParameterCode =
  | 'invalid_type'
  | 'invalid_value'
  | 'missing_required_parameter'
  | 'unknown_parameter'
  | 'unsupported_parameter'
  | 'unsupported_value'

/** Returns the error for a field of the request; `param` is its path. */
export function parameterError(param: string, code: ParameterCode, message: string): AppError {
  return new AppError('invalid', message, { code, param })
}

/** @throws AppError `invalid` unless `value` is text. */
export function textAt(value: unknown, param: string): string {
  if (typeof value !== 'string') throw wrongType(param, 'a string')
  return value
}

/** @throws AppError `invalid` unless `value` is an object. */
export function objectAt(value: unknown, param: string): JsonObject {
  if (!isJsonObject(value)) throw wrongType(param, 'an object')
  return value
}

/** @throws AppError `invalid` unless `value` is an array. */
export function arrayAt(value: unknown, param: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongType(param, 'an array')
  return value
}

/** Returns whether the field has a value; clients send null for fields that they leave to their default. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Returns `fields` without those that are undefined. */
export function withoutUndefined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function wrongType(param: string, expected: string): AppError {
  return parameterError(param, 'invalid_type', `Invalid type for '${param}': expected ${expected}.`)
}
