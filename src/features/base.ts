import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Sealer } from '../core/secrets.ts'
import type { Db } from '../db/open.ts'
import type { Enqueue } from '../jobs/queue.ts'

/** Dependencies that every domain receives. `fetch` is for adapters alone; a copy of an installation refuses some kinds of `enqueue`. */
export type Base = {
  db: Db
  clock: Clock
  log: Log
  sealer: Sealer
  enqueue: Enqueue
  fetch: typeof fetch
}
