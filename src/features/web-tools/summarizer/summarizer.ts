import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import { extract, PageError, type ReadUrlDeps, summarize } from './pages.ts'
import { Extract, ExtractRequest, SummarizeRequest, Summary } from './schemas.ts'

/** Each request holds a page of several megabytes and a connection to an unknown server. */
const MAX_AT_ONCE = 16

/** Serves pages as data without authentication, so requests per address and concurrent requests are limited. */
export function summarizerRoutes(deps: ReadUrlDeps & { log: Log; requestsPerMinute: { summarizer: number } }) {
  const app = new Hono<BaseEnv>()
  const limit = limitRate(() => deps.requestsPerMinute.summarizer, 'Too many requests, please slow down.')
  const atOnce = limitAtOnce(MAX_AT_ONCE)

  app.post(
    '/api/summarize',
    endpoint({ summary: 'Summarizes a web page', tag: 'Web', responses: { 200: Summary }, errors: ['internal'] }),
    limit,
    validate('json', SummarizeRequest),
    atOnce,
    async (c) => c.json(await summarize(deps, c.req.valid('json'))),
  )

  app.post(
    '/api/extract',
    endpoint({
      summary: 'Extracts links, images and metadata of a page',
      tag: 'Web',
      responses: { 200: Extract },
      errors: ['internal'],
    }),
    limit,
    validate('json', ExtractRequest),
    atOnce,
    async (c) => c.json(await extract(deps, c.req.valid('json').url)),
  )

  app.onError((error, c) => {
    if (!(error instanceof PageError)) throw error
    deps.log.info({ requestId: c.var.requestId, cause: rootMessage(error) }, error.message)
    return c.json({ error: error.message }, 500)
  })

  return app
}

/** Returns the innermost cause, which only the log gets. */
function rootMessage(error: Error): string {
  return error.cause instanceof Error ? rootMessage(error.cause) : errorMessage(error)
}

/** Limits concurrent requests. @throws AppError `unavailable` while `max` requests are running. */
function limitAtOnce(max: number) {
  let count = 0
  return createMiddleware<BaseEnv>(async (_c, next) => {
    if (count >= max)
      throw new AppError('unavailable', 'Too many pages at once, please try again.', { retryAfter: '1' })
    count++
    try {
      await next()
    } finally {
      count--
    }
  })
}
