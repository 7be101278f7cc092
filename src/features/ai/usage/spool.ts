import { open, rename, rm } from 'node:fs/promises'
import { z } from 'zod'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Timed } from './rows/event.ts'
import { ignoreMissing, readIfThere, toLines, type UnderWayCalls } from './running-calls/under-way.ts'
import { PRICE_SOURCES } from './tables.ts'
import type { UsageWriter } from './writer.ts'

/** Usage that could not be written: kept in a file beside the database until it can. */
export type UsageSpool = {
  /** Never throws: events that cannot be written to disk are kept in memory. */
  add(events: Timed[]): Promise<void>
  /** Writes the spooled events, each once. @throws the error of the database. */
  drain(): Promise<void>
  /**
   * Writes the events that the previous run spooled, and its calls that a crash cut off. Must be called before anything is
   * recorded or counted. @throws as `drain`
   */
  recover(): Promise<void>
}

/** Events per transaction while draining. */
const BATCH = 500
/** Protects the memory; further events are lost and logged. */
const MAX_HELD = 100_000

const Step = z.object({
  generationId: z.string().nullable(),
  model: z.string(),
  provider: z.string(),
  latencyMs: z.number(),
  failure: z.string().nullable(),
  error: z.string().nullable(),
})

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
  cachedInputTokens: z.number().default(0),
  cacheCreationTokens: z.number().default(0),
  cacheCreationHourTokens: z.number().default(0),
  outputTokens: z.number(),
  costMicroUsd: z.number().nullable(),
  endpoint: z.string(),
  latencyMs: z.number(),
  errorMessage: z.string().nullable(),
  firstTokenMs: z.number().nullable().default(null),
  priceSource: z.enum(PRICE_SOURCES).nullable().default(null),
  finishReason: z.string().nullable().default(null),
  callId: z.string().nullable().default(null),
  trail: z.array(Step).nullable().default(null),
  listCostMicroUsd: z.number().nullable().default(null),
  endUser: z.string().nullable().default(null),
  tags: z.array(z.string()).nullable().default(null),
  at: z.coerce.date(),
})

/** Keeps events in `file`, one JSON text a line. While it is drained, new events go to a fresh file. */
export function createUsageSpool(deps: {
  file: string
  underWay: UnderWayCalls
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
    const events = parseLines(toLines(await readIfThere(file)), deps.log)
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
    // An interrupted drain left this file.
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
      const cutShort = parseLines(await deps.underWay.read(), deps.log)
      if (cutShort.length > 0) {
        deps.log.warn(`[UsageLogger] Booking ${cutShort.length} calls that the last run did not end`)
        await deps.writer.saveMissing(cutShort).catch(async (error) => {
          deps.log.error(`[UsageLogger] Failed to log usage: ${errorMessage(error)}`)
          await add(cutShort)
        })
      }
      await deps.underWay.replace([])
      await drain()
    },
  }
}

/** Skips and logs lines that a crash cut off. */
function parseLines(lines: readonly string[], log: Log): Timed[] {
  return lines.flatMap((line) => {
    try {
      return [SpooledEvent.parse(JSON.parse(line))]
    } catch (error) {
      log.error(`[UsageLogger] Cannot read a spooled usage log: ${errorMessage(error)}`)
      return []
    }
  })
}
