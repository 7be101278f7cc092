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
/** The tasks of a page's own thread, in ms: how many there were, all together, and the longest. */
export type PageTasks = { count: number; sumMs: number; longestMs: number }

/**
 * Traces the tasks of a page's thread until it is stopped, by the processor time that each took: what else the machine
 * does meanwhile does not count, as it would with the `longtask` entries of the page, which go by the clock.
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

/** @throws {Error} without a task of a page's thread: then nothing was traced. */
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
