import { onTestFinished } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Extract, Summary } from '../../../src/features/web-tools/summarizer/schemas.ts'
import { testPlatform } from '../../harness/platform.ts'
import { json, read } from '../../harness/requests.ts'

const FOLDER = join(import.meta.dir, '../../fixtures/pages')

type Answer = Response | ((request: Request) => Response | Promise<Response>)

/** Starts a web site on loopback: `answers` by path, and the stored pages at `/pages/<name>`. Ends with the test. */
export function openSite(answers: Readonly<Record<string, Answer>> = {}) {
  const requests: { path: string; headers: Headers }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request): Promise<Response> {
      const { pathname } = new URL(request.url)
      requests.push({ path: pathname, headers: new Headers(request.headers) })
      if (pathname.startsWith('/pages/')) return storedPage(pathname.slice('/pages/'.length))
      const answer = answers[pathname]
      if (!answer) return new Response('no such page', { status: 404 })
      return typeof answer === 'function' ? answer(request) : again(answer)
    },
  })
  onTestFinished(() => server.stop(true))
  return { url: server.url.origin, requests }
}

/** Bun types the result of `clone` as another `Response` type. */
function again(response: Response): Response {
  return response.clone() as Response
}

/** Returns a stored page, which is compressed on disk and sent as it is. */
function storedPage(name: string): Response {
  return new Response(readFileSync(join(FOLDER, `${name}.html.gz`)), {
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-encoding': 'gzip' },
  })
}

/** Creates a platform whose summarizer may fetch from loopback. */
export function openSummarizer(environment: Record<string, string> = {}) {
  const { summarizer, api, clock, logLines } = testPlatform({
    environment: { SUMMARIZER_ALLOW_PRIVATE: 'true', ...environment },
  })
  const post = (path: string, body: unknown) => summarizer.request(path, json('POST', body))
  return {
    summarizer,
    api,
    clock,
    logLines,
    post,
    summarize: (url: string, more: object = {}) => read(Summary, post('/api/summarize', { url, ...more })),
    extract: (url: string) => read(Extract, post('/api/extract', { url })),
  }
}

export function html(text: string | Uint8Array<ArrayBuffer>, type = 'text/html; charset=utf-8'): Response {
  return new Response(text, { headers: { 'content-type': type } })
}
