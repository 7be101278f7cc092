import { statfs } from 'node:fs/promises'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Tx } from '../../../db/open.ts'
import { findWriteFailure, write } from '../../../db/write.ts'
import { findRouteOptions } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Notification } from '../../accounts/notifications/schemas.ts'
import type { Base } from '../../base.ts'

/** The disk is measured at most once in this time. */
const KEPT_MS = 2000

/** Compares free disk space with the operator's minimum; up to two seconds old. */
export type DiskFloor = {
  minFreeBytes: number
  /** Returns the free bytes of the fullest disk. @throws the error of the measurement. */
  measure(): Promise<number>
  /** @throws the error of the measurement. */
  isLow(): Promise<boolean>
}

/** `measureFreeDisk` returns the free bytes of the fullest disk that the platform writes to. */
export function createDiskFloor(measureFreeDisk: () => Promise<number>, minFreeBytes: number): DiskFloor {
  let kept: Promise<number> | null = null
  let isUnderWay = false
  let keptUntilMs = 0
  const measure = () => {
    // A hanging disk is measured once; every further call would block another thread.
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

/** Creates a probe of the free bytes on the fullest disk of these folders, without the privileged reserve. */
export function createFreeDiskProbe(folders: readonly string[]): () => Promise<number> {
  return async () => {
    const disks = await Promise.all(folders.map((folder) => statfs(folder)))
    return Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize))
  }
}

/** Methods that only read or delete. */
const HARMLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

/**
 * Rejects users' writes while free space is below the minimum: a database on a full disk cannot store anything.
 * @throws AppError `storage_full` DISK_FULL.
 */
export function refuseWritesOnFullDisk({ diskFloor }: { diskFloor: DiskFloor }) {
  return createMiddleware<BaseEnv>((c, next) => (isUsersWrite(c) ? refuseOnFullDisk(diskFloor, next) : next()))
}

async function refuseOnFullDisk(diskFloor: DiskFloor, next: () => Promise<void>): Promise<void> {
  if (await isLow(diskFloor)) {
    throw new AppError('storage_full', 'The server has no room left. Please try again later.', { code: 'DISK_FULL' })
  }
  await next()
}

/**
 * Returns whether a request stores data of users. Routes that free space, authenticate, or serve the operator opt
 * out.
 */
function isUsersWrite(c: Context): boolean {
  return !HARMLESS_METHODS.has(c.req.method) && !findRouteOptions(c).worksOnFullDisk
}

/** Returns false for a disk that cannot be measured; the write itself fails when it is full. */
function isLow(floor: DiskFloor): Promise<boolean> {
  return floor.isLow().catch(() => false)
}

const LOOK_MS = 10_000
const MEGABYTE = 1024 * 1024

/** Notifies the operator once when users' writes start to fail for lack of space, and once when they work again. */
export function watchDiskJob(
  deps: Base & { diskFloor: DiskFloor; notify: (tx: Tx, notification: Notification) => void },
): RepeatingJob {
  let isLow = false
  let pending: Notification | null = null
  let failure: string | null = null

  const look = async () => {
    const free = await deps.diskFloor.measure()
    if (free < deps.diskFloor.minFreeBytes === isLow) return
    isLow = !isLow
    pending = toNotification(deps, isLow, free)
    deps.log[isLow ? 'error' : 'info']({ freeMegabytes: toMegabytes(free) }, pending.status)
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
      const notification = pending
      if (!notification) return
      // A full disk fails this write too; the next run retries it.
      await write(deps.db, (tx) => deps.notify(tx, notification))
      pending = null
    },
  }
}

function toNotification(
  { clock, diskFloor }: { clock: Clock; diskFloor: DiskFloor },
  isLow: boolean,
  free: number,
): Notification {
  const kind = isLow ? 'disk_low' : 'disk_recovered'
  const at = clock.now().toISOString()
  const figures = `${toMegabytes(free)} MB are free, MIN_FREE_DISK_MB is ${toMegabytes(diskFloor.minFreeBytes)}`
  const status = isLow ? `Users’ writes are refused: ${figures}` : `Users can write again: ${figures}`
  return { id: `${kind}:${at}`, kind, at, agent: null, status, attempt: 0, exitCode: null, outOfMemory: false }
}

function toMegabytes(bytes: number): number {
  return Math.floor(bytes / MEGABYTE)
}
