import type Database from 'better-sqlite3'
import { AppError } from '../../core/errors.ts'

/** An SQL statement that wrote, with its parameters. */
export type LoggedStatement = readonly [sql: string, parameters: readonly SqlValue[]]
type SqlValue = string | number | bigint | Buffer | null

/** The statements that closures have run since the last `take`. */
export type CapturedStatements = {
  /** Runs a closure and records its statements. */
  record<T>(closure: () => T): T
  take(): LoggedStatement[]
  count(): number
  /** Drops the statements of a closure that was rolled back. */
  keepFirst(count: number): void
}

/** JSON has neither bytes nor 64-bit integers, so both are tagged. */
type JsonValue = string | number | null | { bytes: string } | { integer: string }

/** Records what closures write by the connection, so that other nodes can run it as well. */
export function captureStatements(sqlite: Database.Database): CapturedStatements {
  let statements: LoggedStatement[] = []
  let isRecording = false
  const prepare = sqlite.prepare.bind(sqlite)
  Object.assign(sqlite, {
    prepare(text: string) {
      const statement = prepare(text)
      if (statement.readonly) return statement
      for (const method of ['run', 'get', 'all'] as const) {
        const call = statement[method].bind(statement)
        Object.assign(statement, {
          [method](...parameters: unknown[]) {
            const result = call(...parameters)
            if (isRecording) statements.push([text, parameters.map(toSqlValue)])
            return result
          },
        })
      }
      return statement
    },
  })
  return {
    record(closure) {
      isRecording = true
      try {
        return closure()
      } finally {
        isRecording = false
      }
    },
    take() {
      const taken = statements
      statements = []
      return taken
    },
    count: () => statements.length,
    keepFirst(count) {
      statements.length = count
    },
  }
}

/** Writes statements as JSON text. */
export function encodeStatements(statements: readonly LoggedStatement[]): string {
  return JSON.stringify(statements.map(([text, parameters]) => [text, parameters.map(toJsonValue)]))
}

/** @throws SyntaxError for text that `encodeStatements` did not write. */
export function decodeStatements(json: string): LoggedStatement[] {
  const parsed: [string, JsonValue[]][] = JSON.parse(json)
  return parsed.map(([text, parameters]) => [text, parameters.map(fromJsonValue)])
}

/** Named parameters and values that SQLite does not know cannot be logged. */
function toSqlValue(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value
  if (Buffer.isBuffer(value)) return value
  if (value instanceof Uint8Array) return Buffer.from(value)
  throw new AppError('internal', `A parameter of type ${typeof value} cannot be logged`)
}

function toJsonValue(value: SqlValue): JsonValue {
  if (typeof value === 'bigint') return { integer: value.toString() }
  if (Buffer.isBuffer(value)) return { bytes: value.toString('base64') }
  return value
}

function fromJsonValue(value: JsonValue): SqlValue {
  if (value === null || typeof value !== 'object') return value
  return 'bytes' in value ? Buffer.from(value.bytes, 'base64') : BigInt(value.integer)
}
