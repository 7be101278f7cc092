import { statfs } from 'node:fs/promises'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { findWriteFailure, write } from '../../../db/write.ts'
import { findRouteOptions } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Notification } from '../../accounts/notifications/schemas.ts'

/** Anybody may ask as often as they like; the disk is asked no more often than this. */
const KEPT_MS = 2000

/** Whether the disk has less space than the operator wants kept free, as of the last two seconds. */
export type DiskFloor = {
  minFreeBytes: number
  /** Free bytes of the fullest disk that the service writes to. @throws what measuring throws. */
  measure(): Promise<number>
  /** @throws what measuring throws. */
  isLow(): Promise<boolean>
}

/** `measureFreeDisk` tells the free bytes of the fullest disk that the service writes to. */
export function createDiskFloor(measureFreeDisk: () => Promise<number>, minFreeBytes: number): DiskFloor {
  let kept: Promise<number> | null = null
  let isUnderWay = false
  let keptUntilMs = 0
  const measure = () => {
    // A disk that hangs is asked once, not by one more thread every other second.
    if (!kept || (!isUnderWay && performance.now() >= keptUntilMs)) {
      isUnderWay = true
      keptUntilMs = performance.now() + KEPT_MS
      kept = measureFreeDisk().finally(() => {
        isUnderWay = false
      })
    }
    return kept
  }
  return { minFreeBytes, measure, isLow: async () => (await measure()) < minFreeBytes }
}

/** Bytes that may still be written below the fullest of these folders; a privileged reserve is not counted. */
export function createFreeDiskProbe(folders: readonly string[]): () => Promise<number> {
  return async () => {
    const disks = await Promise.all(folders.map((folder) => statfs(folder)))
    return Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize))
  }
}

/** Reading and deleting. */
const HARMLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

/**
 * Refuses what users write while less is free than the operator wants: a database on a full disk keeps nothing at all.
 * @throws AppError `storage_full` DISK_FULL.
 */
export function refuseWritesOnFullDisk({ diskFloor }: { diskFloor: DiskFloor }) {
  return createMiddleware<BaseEnv>(async (c, next) => {
    if (isUsersWrite(c) && (await isLow(diskFloor))) {
      throw new AppError('storage_full', 'The server has no room left. Please try again later.', { code: 'DISK_FULL' })
    }
    await next()
  })
}

/**
 * Does a request leave something that grows with what users do? Routes that give space back or end something, sign in,
 * guard an account, are the operator's own work, or keep nothing but a line of bookkeeping say that they do not.
 */
function isUsersWrite(c: Context): boolean {
  return !HARMLESS_METHODS.has(c.req.method) && !findRouteOptions(c).worksOnFullDisk
}

/** A disk that cannot be measured refuses nobody: the write itself tells whether there is space. */
function isLow(floor: DiskFloor): Promise<boolean> {
  return floor.isLow().catch(() => false)
}

type WatchDiskDeps = {
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
