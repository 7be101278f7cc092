import { type Clock, toDay } from '../../../core/clock.ts'
import type { ChangeFeed } from '../../../db/changes/feed.ts'
import type { Db } from '../../../db/open.ts'
import type { EventStream } from '../../../http/streams/sse.ts'
import { pause } from '../../../jobs/runner.ts'
import { type CostSum, toCostUsd } from '../../ai/usage/costs.ts'
import { figuresOf } from './figures.ts'
import type { FleetEvent, FleetFigures } from './schemas.ts'

/** However much is written, somebody's agents are looked at once in this time. */
const LOOK_MS = 1_000

export type FollowDeps = { db: Db; clock: Clock; changes: ChangeFeed }

/** Sends what changes of somebody's agents until `signal` aborts; the first event is empty and says that one is listened to. */
export async function followFleet(
  { db, clock, changes }: FollowDeps,
  ownerId: string,
  { send, signal }: EventStream,
): Promise<void> {
  let known = new Map<string, string>()
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const seen = changes.count()
    const now = figuresOf(db, ownerId, toDay(clock.now())).all().map(toFigures)
    const { event, next } = compare(known, now)
    known = next
    if (isFirst) await send('agents', { changed: [], gone: [] } satisfies FleetEvent)
    else if (event.changed.length > 0 || event.gone.length > 0) await send('agents', event)
    await pause(LOOK_MS, signal)
    await changes.changed(seen, signal)
  }
}

function compare(
  known: ReadonlyMap<string, string>,
  now: FleetFigures[],
): { event: FleetEvent; next: Map<string, string> } {
  const next = new Map(now.map((figures) => [figures.id, JSON.stringify(figures)]))
  const changed = now.filter(({ id }) => known.get(id) !== next.get(id))
  return { event: { changed, gone: [...known.keys()].filter((id) => !next.has(id)) }, next }
}

function toFigures({
  messages,
  costMicroUsd,
  unpricedCalls,
  ...row
}: { messages: number } & CostSum & Pick<FleetFigures, 'id' | 'name' | 'status'>): FleetFigures {
  return { ...row, messagesToday: messages, costTodayUsd: toCostUsd({ costMicroUsd, unpricedCalls }) }
}
