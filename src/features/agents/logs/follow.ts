import type { RuntimeLogLine } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { endWith } from '../../../core/concurrency/end-with.ts'
import { redact } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import type { AgentRow } from '../registry/tables.ts'
import { appendLines, findCursor, MAX_STORED_BYTES, type NewLine, storedBytes } from './store.ts'

/** Lines of this time are stored together. */
const GATHER_MS = 250
/** Lines that are written in one go. */
const PART = 200
/** More lines than this are not even read in that time. */
const MAX_LINES = 10_000
/** What an agent may write for ever; after a quiet time it may write as much as is kept of it at once. */
const BYTES_PER_SECOND = 256 * 1024

type FollowDeps = { db: Db; clock: Clock; runtimes: Pick<Runtimes, 'runtimeOf'> }

/** What of a batch is stored, and how many lines are not. */
type Ration = (lines: readonly RuntimeLogLine[]) => number

/**
 * Stores what an agent writes, from where the last stored line ends, until it is removed or `signal` aborts. `clean` makes
 * a line fit to be kept. Of a flood only as much is kept as the ration allows, and a line says how much is missing.
 * @throws AppError as the runtime does.
 */
export async function followAgent(
  deps: FollowDeps,
  agent: Pick<AgentRow, 'id' | 'runtime'>,
  clean: () => (text: string) => string,
  signal: AbortSignal,
): Promise<void> {
  const agentId = agent.id
  const ration = createRation(deps.clock)
  const { ending: session, release } = endWith(signal)
  try {
    let before = findCursor(deps.db, agentId)
    const lines = deps.runtimes.runtimeOf(agent).followLogs(agentId, { after: before, signal: session.signal })
    for await (const batch of gatherBatches(lines, { gatherMs: GATHER_MS, maxItems: MAX_LINES, session })) {
      for (const { lines: kept, after } of toParts(batch, ration(batch), clean())) {
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
 * What is stored of a batch, some lines at a time, so that nobody waits long for their turn to write. The newest `keep`
 * lines: what comes after a flood is more telling than its beginning.
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

/** Counts out `BYTES_PER_SECOND`, and what was not used of them up to `MAX_STORED_BYTES`. */
function createRation(clock: Clock): Ration {
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

/** `session` is what `items` listen to: it is aborted at the end, so that they do not wait for the next one for ever. */
type BatchOptions = { gatherMs: number; maxItems: number; session: AbortController }

/**
 * What comes within `gatherMs` of an item comes together with it. A window with `maxItems` is full: nothing more is taken
 * from `items` until it is over, so a flood waits at its source.
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

/** Longer lines are cut. */
const MAX_LINE_LENGTH = 8192
/** A shorter value would mask words that are no secret. */
const MIN_SECRET_LENGTH = 8

/** A line as it may be stored and shown: none of `secrets`, nothing that looks like a token, no NUL, and not too long. */
export function createLineCleaner(secrets: readonly string[]): (text: string) => string {
  // The longest first: one secret may hold another.
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
