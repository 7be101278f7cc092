import type { Context, Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { AppError } from '../core/errors.ts'

const KILOBYTE = 1024
/** Spec 4.1: JSON bodies are limited to 1 MB, chunked ones as well. */
const MAX_BODY_BYTES = KILOBYTE * KILOBYTE
/** Rulings, 36: the route that agents call carries whole conversations. */
export const MAX_COMPLETION_BODY_BYTES = 8 * KILOBYTE * KILOBYTE
const MAX_DEPTH = 64
const COMPLETIONS_PATH = '/backend/v1/chat/completions'

const utf8 = new TextDecoder('utf-8', { fatal: true })
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i

const refuse = () => {
  throw new AppError('too_large', 'Request body too large')
}
const smallBody = bodyLimit({ maxSize: MAX_BODY_BYTES, onError: refuse })
const completionBody = bodyLimit({ maxSize: MAX_COMPLETION_BODY_BYTES, onError: refuse })

/**
 * Stands before every handler: a body is small enough, and one that says it is JSON is UTF-8 and not nested too deeply.
 * What was read here is kept by the request, so it is read once.
 */
export async function checkBody(c: Context, next: Next) {
  if (c.req.method === 'GET') return next()
  const length = c.req.header('content-length')
  if (length === undefined || c.req.header('transfer-encoding') !== undefined) return checkUncountedBody(c, next)
  if (Number(length) > maxBytes(c)) refuse()
  if (Number(length) > 0 && hasJsonType(c)) await checkJson(c)
  return next()
}

/** The server holds a caller to the length they gave; what comes without one has to be counted. */
function checkUncountedBody(c: Context, next: Next) {
  if (!c.req.raw.body) return next()
  const limit = maxBytes(c) === MAX_BODY_BYTES ? smallBody : completionBody
  return limit(c, async () => {
    if (hasJsonType(c)) await checkJson(c)
    return next()
  })
}

function maxBytes(c: Context): number {
  return c.req.path === COMPLETIONS_PATH ? MAX_COMPLETION_BODY_BYTES : MAX_BODY_BYTES
}

export function hasJsonType(c: Context): boolean {
  return JSON_TYPE.test(c.req.header('content-type') ?? '')
}

/** Rulings, 12. Invalid UTF-8 would otherwise be replaced silently, and a parser that recurses must not meet deep nesting. */
async function checkJson(c: Context): Promise<void> {
  const text = decodeUtf8(await c.req.arrayBuffer())
  if (isTooDeep(text)) throw new AppError('invalid', 'JSON is nested too deeply')
  // Hono keeps promises here, whatever its type says.
  Object.assign(c.req.bodyCache, { text: Promise.resolve(text) })
}

function decodeUtf8(bytes: ArrayBuffer): string {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    throw new AppError('invalid', 'Request body is not valid UTF-8', {}, { cause: error })
  }
}

/** Counts brackets outside strings. */
function isTooDeep(json: string): boolean {
  let depth = 0
  let isInString = false
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (isInString) {
      if (code === 0x5c) index++
      else if (code === 0x22) isInString = false
    } else if (code === 0x22) isInString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_DEPTH) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
