import type { Clock } from '../../../core/clock.ts'
import type { Log } from '../../../core/log.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { findWriteFailure, write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Notification } from '../../accounts/notifications/schemas.ts'
import type { DiskFloor } from './disk-floor.ts'

export type WatchDiskDeps = {
  db: Db
  clock: Clock
  log: Log
  diskFloor: DiskFloor
  notify: (tx: Tx, notification: Notification) => void
}

const LOOK_MS = 10_000
const MEGABYTE = 1024 * 1024

/** Tells the operator when users' writes begin to fail for want of space, and when that is over: once each. */
export function watchDiskJob(deps: WatchDiskDeps): RepeatingJob {
  let isLow = false
  let untold: Notification | null = null
  let failure: string | null = null

  const look = async () => {
    const free = await deps.diskFloor.measure()
    if (free < deps.diskFloor.minFreeBytes === isLow) return
    isLow = !isLow
    untold = toNotification(deps, isLow, free)
    deps.log[isLow ? 'error' : 'info']({ freeMegabytes: toMegabytes(free) }, untold.status)
  }
  const lookAtWrites = () => {
    const now = findWriteFailure(deps.db)
    if ((now === null) === (failure === null)) return
    failure = now
    if (now === null) deps.log.info('the database can be written again')
    else deps.log.error({ error: now }, 'nothing can be written to the database')
  }
  return {
    name: 'storage.watch-disk',
    everyMs: LOOK_MS,
    async run() {
      lookAtWrites()
      await look()
      const notification = untold
      if (!notification) return
      // When there is no space for this either, it is tried the next time.
      await write(deps.db, (tx) => deps.notify(tx, notification))
      untold = null
    },
  }
}

function toNotification({ clock, diskFloor }: WatchDiskDeps, isLow: boolean, free: number): Notification {
  const kind = isLow ? 'disk_low' : 'disk_recovered'
  const at = clock.now().toISOString()
  const figures = `${toMegabytes(free)} MB are free, MIN_FREE_DISK_MB is ${toMegabytes(diskFloor.minFreeBytes)}`
  const status = isLow ? `Users’ writes are refused: ${figures}` : `Users can write again: ${figures}`
  return { id: `${kind}:${at}`, kind, at, agent: null, status, attempt: 0, exitCode: null, outOfMemory: false }
}

function toMegabytes(bytes: number): number {
  return Math.floor(bytes / MEGABYTE)
}
