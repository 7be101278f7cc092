import { and, eq, inArray } from 'drizzle-orm'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { CallList, CallQuery, ModelCall } from '../usage/schemas.ts'
import type { LoggedRequest, RequestList, RequestQuery } from './schemas.ts'
import { type LoggedCallRow, searchCalls } from './search.ts'

/** Lists a page of a user's requests, newest first. */
export function listRequests(db: Db, userId: string, query: RequestQuery): RequestList {
  const { key: keyId, agent: agentId, limit, ...filters } = query
  const { rows, next } = searchCalls(db, userId, { ...filters, keyId, agentId }, limit)
  return { requests: toLoggedRequests(db, userId, rows), next }
}

/** As `listRequests`, in the form of `GET /api/usage/calls`. */
export function listCalls(db: Db, userId: string, { limit, ...filters }: CallQuery): CallList {
  const { rows, next } = searchCalls(db, userId, filters, limit)
  const names = readNames(db, userId, rows)
  return { calls: rows.map((call) => toCall(call, names)), nextBefore: next }
}

export function toLoggedRequests(db: Db, userId: string, rows: readonly LoggedCallRow[]): LoggedRequest[] {
  const names = readNames(db, userId, rows)
  return rows.map((row) => {
    const { cachedInputTokens, firstTokenMs, priceSource, finishReason, endUser, tags } = row
    const measured = { cachedInputTokens, firstTokenMs, priceSource, finishReason }
    return { ...toCall(row, names), ...measured, endUser, tags: [...(tags ?? [])] }
  })
}

type Names = ReadonlyMap<string, string>

/** Reads the names of the calls' agents and keys by id. */
function readNames(db: Db, userId: string, calls: readonly LoggedCallRow[]): Names {
  const agentIds = [...new Set(calls.map(({ agentId }) => agentId))]
  const keyIds = [...new Set(calls.flatMap(({ keyId }) => keyId ?? []))]
  const ofAgents = db
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(and(inArray(agents.id, agentIds), eq(agents.ownerId, userId)))
  const ofKeys = db.select({ id: apiKeys.id, name: apiKeys.name }).from(apiKeys).where(inArray(apiKeys.id, keyIds))
  return new Map([...ofAgents.all(), ...ofKeys.all()].map(({ id, name }) => [id, name]))
}

function toCall(call: LoggedCallRow, names: Names): ModelCall {
  return {
    id: call.id,
    generationId: call.generationId,
    at: call.createdAt.toISOString(),
    agentId: call.agentId,
    agentName: names.get(call.agentId) ?? null,
    keyId: call.keyId,
    keyName: call.keyId === null ? null : (names.get(call.keyId) ?? null),
    model: call.model,
    provider: call.provider,
    endpoint: call.endpoint,
    inputTokens: call.inputTokens,
    outputTokens: call.outputTokens,
    costUsd: call.isUnpriced ? null : toUsd(call.costMicroUsd),
    latencyMs: call.latencyMs,
    attempts: call.attempts,
    succeeded: call.success,
    error: call.errorMessage,
    isOwnKey: call.isOwnKey,
    isEstimated: call.estimated,
  }
}
