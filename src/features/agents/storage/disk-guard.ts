import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import type { BaseEnv } from '../../../http/env.ts'
import type { DiskFloor } from './disk-floor.ts'

/**
 * What goes on while the disk is below its floor: whatever gives room back or ends something, signing in and guarding
 * one's account, the operator's own work, and what keeps nothing but a line of bookkeeping.
 */
const GOES_ON: readonly RegExp[] = [
  /\/(stop|cancel|reset-memory)$/,
  /^\/api\/(auth|admin|security|watchdog)\//,
  /^\/api\/wallet-auth$/,
  /^\/api\/settings\/(password|two-factor\/)/,
  /^\/api\/billing$/,
  /\/(token|platform-token)\/rotate$/,
  /^\/api\/keys\/[^/]+(\/rotate)?$/,
  /^\/api\/(validate-key|invite\/validate|infra-mcp\/validate-config|heartbeat)$/,
  /^\/v1\/(chat\/completions|embeddings)$/,
  /^\/api\/(ai\/.+|demo\/chat)$/,
]
const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses what users write while less is free than the operator wants: a database on a full disk keeps nothing at all.
 * @throws AppError `storage_full` DISK_FULL.
 */
export function refuseWritesOnFullDisk({ diskFloor }: { diskFloor: DiskFloor }) {
  return createMiddleware<BaseEnv>(async (c, next) => {
    if (isUsersWrite(c.req.method, withoutFace(c.req.path)) && (await isLow(diskFloor))) {
      throw new AppError('storage_full', 'The server has no room left. Please try again later.', { code: 'DISK_FULL' })
    }
    await next()
  })
}

/** Does a request leave something that grows with what users do? */
export function isUsersWrite(method: string, path: string): boolean {
  return !READS.has(method) && method !== 'DELETE' && !GOES_ON.some((each) => each.test(path))
}

/** A disk that cannot be measured refuses nobody: the write itself tells whether there is room. */
function isLow(floor: DiskFloor): Promise<boolean> {
  return floor.isLow().catch(() => false)
}

/** The face stands before the path. */
function withoutFace(path: string): string {
  return path.replace(/^\/[^/]+/, '')
}
