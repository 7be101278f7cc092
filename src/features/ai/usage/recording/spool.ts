import { open, readFile, rename, rm } from 'node:fs/promises'
import { z } from 'zod'
import { errorMessage } from '../../../../core/errors.ts'
import type { Log } from '../../../../core/log.ts'
import type { Timed } from './event.ts'
import type { UsageWriter } from './save.ts'

/** Usage that could not be written: kept in a file beside the database until it can. */
export type UsageSpool = {
  /** Never throws: what no disk takes is held in memory. */
  add(events: Timed[]): Promise<void>
  /** Writes what is spooled, each event once. @throws what the database says when it still cannot. */
  drain(): Promise<void>
  /**
   * Writes what the last run left: what it had spooled, and what was under way when it was cut short. To be called before
   * anything is booked or counted. @throws as `drain`; then what is left is spooled.
   */
  recover(): Promise<void>
}

/** Events of one closure while draining. */
const BATCH = 500
/** Beyond this memory would be the next thing to break; what is lost then is told in the log. */
const MAX_HELD = 100_000

const SpooledEvent = z.object({
  generationId: z.string(),
  keyId: z.string().nullable(),
  provider: z.string(),
  attempts: z.number(),
  isOwnKey: z.boolean(),
  isEstimated: z.boolean().default(false),
  userId: z.string(),
  agentId: z.string(),
  model: z.string(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costMicroUsd: z.number().nullable(),
  endpoint: z.string(),
  latencyMs: z.number(),
  errorMessage: z.string().nullable(),
  at: z.coerce.date(),
})

/**
 * `file` holds one event a line; while it is drained new ones go to a fresh one, so none is lost in between. `underWayFile`
 * has the same form.
 */
export function createUsageSpool(deps: {
  file: string
  underWayFile: string
  writer: UsageWriter
  log: Log
}): UsageSpool {
  const draining = `${deps.file}.draining`
  const held: Timed[] = []

  const append = async (events: Timed[]) => {
    const file = await open(deps.file, 'a', 0o600)
    try {
      await file.appendFile(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
      await file.sync()
    } finally {
      await file.close()
    }
  }
  const hold = (events: Timed[]) => {
    const free = Math.max(0, MAX_HELD - held.length)
    held.push(...events.slice(0, free))
    if (events.length > free) deps.log.error(`[UsageLogger] Lost ${events.length - free} usage logs: no room is left`)
  }
  const drainFile = async (file: string) => {
    const events = parseLines(await readIfThere(file), deps.log)
    for (let at = 0; at < events.length; at += BATCH) await deps.writer.saveMissing(events.slice(at, at + BATCH))
    await rm(file, { force: true })
  }

  const add = async (events: Timed[]) => {
    try {
      await append(events)
    } catch (error) {
      deps.log.error(`[UsageLogger] Failed to spool usage: ${errorMessage(error)}`)
      hold(events)
    }
  }
  const drain = async () => {
    // What an earlier run was interrupted at comes first.
    await drainFile(draining)
    await rename(deps.file, draining).catch(ignoreMissing)
    await drainFile(draining)
    while (held.length > 0) {
      await deps.writer.saveMissing(held.slice(0, BATCH))
      held.splice(0, BATCH)
    }
  }

  return {
    add,
    drain,
    async recover() {
      const cutShort = parseLines(await readIfThere(deps.underWayFile), deps.log)
      if (cutShort.length > 0) {
        deps.log.warn(`[UsageLogger] Booking ${cutShort.length} calls that the last run did not end`)
        await add(cutShort)
      }
      await rm(deps.underWayFile, { force: true })
      await drain()
    },
  }
}

/** A line cut by a crash says nothing whole: it is told and left out. */
function parseLines(text: string, log: Log): Timed[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      try {
        return [SpooledEvent.parse(JSON.parse(line))]
      } catch (error) {
        log.error(`[UsageLogger] Cannot read a spooled usage log: ${errorMessage(error)}`)
        return []
      }
    })
}

async function readIfThere(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error) => {
    ignoreMissing(error)
    return ''
  })
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}
