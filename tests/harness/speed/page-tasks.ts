import type { Page } from 'playwright-core'
import { z } from 'zod'

const CATEGORIES = ['disabled-by-default-devtools.timeline', '__metadata']
const eventSchema = z.object({
  name: z.string(),
  pid: z.number(),
  tid: z.number(),
  dur: z.number().optional(),
  tdur: z.number().optional(),
  args: z.object({ name: z.unknown() }).partial().optional(),
})

type TraceEvent = z.infer<typeof eventSchema>
/** Number, total and longest duration in ms of the tasks of a page's main thread. */
export type PageTasks = { count: number; sumMs: number; longestMs: number }

/**
 * Traces the tasks of a page's main thread until `stop`. It measures CPU time, because the `longtask` entries of the
 * page include the load of other processes.
 */
export async function watchPageTasks(page: Page): Promise<{ stop(): Promise<PageTasks> }> {
  const session = await page.context().newCDPSession(page)
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) => {
    events.push(...value.flatMap((event) => eventSchema.safeParse(event).data ?? []))
  })
  const complete = new Promise<void>((resolve) => session.once('Tracing.tracingComplete', () => resolve()))
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: CATEGORIES, recordMode: 'recordUntilFull' },
  })
  return {
    async stop() {
      await session.send('Tracing.end')
      await complete
      await session.detach()
      return tasksOf(events)
    },
  }
}

/** Sums the tasks of the trace. @throws Error when there are none. */
function tasksOf(events: readonly TraceEvent[]): PageTasks {
  const threads = new Set(events.filter(isPageThread).map(threadOf))
  const tasks = events.filter((event) => /RunTask$/.test(event.name) && threads.has(threadOf(event)))
  if (tasks.length === 0) throw new Error('The trace has no task of the page')
  const times = tasks.map(({ tdur = 0 }) => tdur / 1000)
  return { count: tasks.length, sumMs: times.reduce((sum, ms) => sum + ms, 0), longestMs: Math.max(...times) }
}

function isPageThread({ name, args }: TraceEvent): boolean {
  return name === 'thread_name' && args?.name === 'CrRendererMain'
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid}/${tid}`
}
