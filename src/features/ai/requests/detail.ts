import { and, desc, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { isFurtherAttempt, usageLogs } from '../usage/tables.ts'
import { findBodies } from './bodies.ts'
import { toLoggedRequests } from './list.ts'
import type { RequestDetail } from './schemas.ts'
import type { LoggedCallRow } from './search.ts'

/** Returns a user's request with all attempts of its call. @throws AppError `not_found` for an unknown id and for another user's. */
export function getRequest(db: Db, userId: string, generationId: string): RequestDetail {
  const row = db
    .select()
    .from(usageLogs)
    .where(and(eq(usageLogs.generationId, generationId), eq(usageLogs.userId, userId)))
    .get()
  const [request] = row ? toLoggedRequests(db, userId, [row]) : []
  if (!row || !request) throw new AppError('not_found', 'Request not found')
  const last = findLastAttempt(db, row) ?? row
  return {
    ...request,
    tried: last.trail?.map((step) => ({ ...step })) ?? [toOnlyAttempt(row, generationId)],
    answeredBy: last.id !== row.id && last.success ? last.generationId : null,
    bodies: findBodies(db, userId, generationId),
  }
}

function findLastAttempt(db: Db, { callId, generationId, userId }: LoggedCallRow): LoggedCallRow | undefined {
  return db
    .select()
    .from(usageLogs)
    .where(and(eq(usageLogs.callId, callId ?? generationId ?? ''), isFurtherAttempt, eq(usageLogs.userId, userId)))
    .orderBy(desc(usageLogs.attempts))
    .limit(1)
    .get()
}

function toOnlyAttempt({ model, provider, latencyMs, success, errorMessage }: LoggedCallRow, generationId: string) {
  return { generationId, model, provider, latencyMs, failure: success ? null : 'failed', error: errorMessage }
}
