import type { Context, Next } from 'hono'
import type { Log } from '../core/log.ts'
import { inRequest, REQUEST_ID_HEADER, toRequestId } from '../core/request-id.ts'
import type { BaseEnv } from './env.ts'
import type { NoteRequest } from './request-figures.ts'

const CONTENT_SECURITY_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/**
 * Outermost middleware: request id, security headers, a `debug` log line and metrics. Sets headers before the handler,
 * so the response is built once.
 */
export function frame(log: Log, options: { isHttps: boolean; noteRequest: NoteRequest }) {
  const shouldLog = log.isLevelEnabled('debug')
  return async (c: Context<BaseEnv>, next: Next) => {
    const requestId = toRequestId(c.req.header(REQUEST_ID_HEADER))
    c.set('requestId', requestId)
    c.header(REQUEST_ID_HEADER, requestId)
    c.header('x-content-type-options', 'nosniff')
    c.header('x-frame-options', 'DENY')
    c.header('referrer-policy', 'strict-origin-when-cross-origin')
    c.header('content-security-policy', CONTENT_SECURITY_POLICY)
    c.header('cache-control', 'no-store')
    if (options.isHttps) c.header('strict-transport-security', 'max-age=31536000; includeSubDomains')
    const startedAt = performance.now()
    await inRequest(requestId, next)
    options.noteRequest(c, startedAt)
    if (!shouldLog) return
    const ms = Math.round(performance.now() - startedAt)
    log.debug(
      { requestId, api: c.env.api, method: c.req.method, path: c.req.path, status: c.res.status, ms },
      'request',
    )
  }
}
