import { expect, test } from 'bun:test'
import { json } from '../../harness/requests.ts'
import { openInstallation, type Program } from '../../harness/server.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { until } from '../../harness/until.ts'
import { cpuSecondsOf, listChildren } from './child-processes.ts'
import { HOSTILE_PAGES, PLAIN_PAGE } from './hostile-pages.ts'

const onLinux = process.platform === 'linux' ? test : test.skip
const ENVIRONMENT = { SUMMARIZER_ALLOW_PRIVATE: 'true', RATE_LIMIT_SUMMARIZER: '1000000' }
/** Far above the end of a killed process, and far below that of the regular expression. */
const MAX_REST_MS = 15_000
/** Time limit of a request. */
const MAX_ANSWER_MS = atMostMs(12_000)

onLinux(
  'POST /api/summarize: 500 within 10 s when six pages of 600 compressed bytes hold what a pattern reads for hours',
  async () => {
    const [html = ''] = Object.values(HOSTILE_PAGES)
    const hostile = Bun.gzipSync(html, { level: 9 })
    expect(hostile.length).toBeLessThan(650)
    using site = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) =>
        url.endsWith('/plain')
          ? new Response(PLAIN_PAGE, { headers: { 'content-type': 'text/html' } })
          : new Response(hostile, { headers: { 'content-type': 'text/html', 'content-encoding': 'gzip' } }),
    })
    await using installation = await openInstallation({ environment: ENVIRONMENT })
    const program = await installation.start()
    const startedAt = performance.now()
    const statuses = await Promise.all(
      Array.from({ length: 6 }, (_, index) => summarize(program, `${site.url.href}${index}`)),
    )
    expect(statuses).toEqual(Array(6).fill(500))
    expect(performance.now() - startedAt).toBeLessThan(MAX_ANSWER_MS)
    await until(
      'no child to be busy',
      async () => {
        const before = cpuSecondsOfAll(program)
        await Bun.sleep(500)
        return cpuSecondsOfAll(program) - before < 0.1
      },
      MAX_REST_MS,
    )
    expect(await summarize(program, `${site.url.href}plain`)).toBe(200)
    expect(listChildren(program.pid).length).toBeLessThanOrEqual(2)
  },
  300_000,
)

async function summarize({ urls }: Program, url: string): Promise<number> {
  const response = await fetch(`${urls.summarizer}/api/summarize`, json('POST', { url, format: 'markdown' }))
  await response.arrayBuffer()
  return response.status
}

/** Returns the CPU time of the service and its running descendants. */
function cpuSecondsOfAll({ pid }: Program): number {
  return [pid, ...listChildren(pid)].reduce((sum, one) => sum + cpuSecondsOf(one), 0)
}
