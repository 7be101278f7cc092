import type { RuntimeLogLine } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { endWith } from '../../../core/concurrency/race.ts'
import { redact } from '../../../core/log.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import type { AgentRow } from '../registry/tables.ts'
import { appendLines, findCursor, MAX_STORED_BYTES, type NewLine, storedBytes } from './store.ts'

/** Lines that arrive within this time are stored together. */
const GATHER_MS = 250
/** Lines stored in one transaction. */
const PART = 200
/** Further lines within `GATHER_MS` are not read. */
const MAX_LINES = 10_000
/** Sustained limit of one agent's output; after a quiet time it may write `MAX_STORED_BYTES` at once. */
const BYTES_PER_SECOND = 256 * 1024

/** Returns how many lines of a batch are stored. */
type LineLimit = (lines: readonly RuntimeLogLine[]) => number

/**
 * Stores an agent's output after the last stored line, until the agent is removed or `signal` aborts. `clean` masks
 * secrets. Lines beyond the rate limit are dropped, and a line in the log says how many.
 * @throws AppError as the runtime.
 */
export async function followAgent(
  deps: Base & { runtimes: Pick<Runtimes, 'runtimeOf'> },
  agent: Pick<AgentRow, 'id' | 'runtime'>,
  clean: () => (text: string) => string,
  signal: AbortSignal,
): Promise<void> {
  const agentId = agent.id
  const limitLines = createLineLimit(deps.clock)
  const { ending: session, release } = endWith(signal)
  try {
    let before = findCursor(deps.db, agentId)
    const lines = deps.runtimes.runtimeOf(agent).followLogs(agentId, { after: before, signal: session.signal })
    for await (const batch of gatherBatches(lines, { gatherMs: GATHER_MS, maxItems: MAX_LINES, session })) {
      for (const { lines: kept, after } of toParts(batch, limitLines(batch), clean())) {
        const cursor = { before, after }
        if (!(await write(deps.db, (tx) => appendLines(tx, agentId, kept, cursor)))) return
        before = after
      }
    }
  } finally {
    release()
  }
}

/**
 * Splits the newest `keep` lines of a batch into small writes, so that other writers do not wait long. The end of a
 * flood is more useful than its beginning.
 */
function* toParts(batch: readonly RuntimeLogLine[], keep: number, clean: (text: string) => string) {
  const dropped = batch.length - keep
  const [first, last] = [batch[0], batch.at(-1)]
  if (!first || !last) return
  if (dropped > 0) {
    const text = `[${dropped} lines dropped: the agent writes too much]`
    const cursor = batch[dropped - 1]?.cursor ?? last.cursor
    yield { lines: [{ at: first.at, stream: 'platform', text } satisfies NewLine], after: cursor }
  }
  for (let start = dropped; start < batch.length; start += PART) {
    const part = batch.slice(start, start + PART)
    const lines: NewLine[] = part.map(({ at, stream, text }) => ({ at, stream, text: clean(text) }))
    yield { lines, after: part.at(-1)?.cursor ?? last.cursor }
  }
}

/** Limits output to `BYTES_PER_SECOND`, with a burst of `MAX_STORED_BYTES`. */
function createLineLimit(clock: Clock): LineLimit {
  let leftBytes = MAX_STORED_BYTES
  let countedAt = clock.now().getTime()
  return (lines) => {
    const now = clock.now().getTime()
    leftBytes = Math.min(MAX_STORED_BYTES, leftBytes + (Math.max(0, now - countedAt) / 1000) * BYTES_PER_SECOND)
    countedAt = now
    let kept = 0
    for (const { text } of lines.toReversed()) {
      if (leftBytes <= 0) break
      leftBytes -= Math.min(storedBytes(text), storedBytes('') + MAX_LINE_LENGTH)
      kept += 1
    }
    return kept
  }
}

/** Aborts `session` at the end, so that `items` does not wait for more. */
type BatchOptions = { gatherMs: number; maxItems: number; session: AbortController }

/**
 * Groups items that arrive within `gatherMs`. A batch with `maxItems` stops reading until its time is over, so that a
 * flood is held back at its source.
 */
export async function* gatherBatches<T>(items: AsyncIterable<T>, options: BatchOptions): AsyncGenerator<T[], void> {
  const { gatherMs, maxItems, session } = options
  const iterator = items[Symbol.asyncIterator]()
  let next = iterator.next()
  try {
    while (!session.signal.aborted) {
      const first = await next
      if (first.done) return
      const batch = [first.value]
      const isOver = pause(gatherMs, session.signal)
      next = iterator.next()
      while (batch.length < maxItems) {
        const result = await Promise.race([next, isOver])
        if (!result || result.done) break
        batch.push(result.value)
        next = iterator.next()
      }
      if (batch.length === maxItems) await isOver
      yield batch
    }
  } finally {
    session.abort()
    next.catch(() => undefined)
    await iterator.return?.()
  }
}

/** Longer lines are truncated. */
const MAX_LINE_LENGTH = 8192
/** Masking a shorter value would hide ordinary words. */
const MIN_SECRET_LENGTH = 8

/** Returns a function that masks `secrets` and tokens in a line, replaces NUL and truncates long lines. */
export function createLineCleaner(secrets: readonly string[]): (text: string) => string {
  // Longest first, because one secret may contain another.
  const masked = secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .sort((one, other) => other.length - one.length)
  return (text) => {
    const unknown = masked.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text)
    const safe = redact(unknown).replaceAll('\0', '\uFFFD')
    if (safe.length <= MAX_LINE_LENGTH) return safe
    return `${safe.slice(0, MAX_LINE_LENGTH)} [${safe.length - MAX_LINE_LENGTH} characters more]`
  }
}
