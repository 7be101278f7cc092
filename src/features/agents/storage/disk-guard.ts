import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { findRouteTraits } from '../../../http/route-traits.ts'
import type { DiskFloor } from './disk-floor.ts'

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
  return !HARMLESS_METHODS.has(c.req.method) && !findRouteTraits(c).worksOnFullDisk
}

/** A disk that cannot be measured refuses nobody: the write itself tells whether there is space. */
function isLow(floor: DiskFloor): Promise<boolean> {
  return floor.isLow().catch(() => false)
}
