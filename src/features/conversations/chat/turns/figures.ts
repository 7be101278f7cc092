import { and, eq, inArray, sum } from 'drizzle-orm'
import type { AgentTurnEvent } from '../../../../adapters/gateways/stream.ts'
import type { Db } from '../../../../db/open.ts'
import { toCostUsd } from '../../../ai/usage/costs.ts'
import { usageLogs } from '../../../ai/usage/tables.ts'
import type { ChatTurn } from '../schemas.ts'
import type { TurnRow } from '../tables.ts'
import type { TurnFigures } from './store.ts'

type Figure = Extract<AgentTurnEvent, { type: 'generation' | 'usage' | 'early_end' }>

/** No turn has more calls of a model than that; an agent that names more is not believed. */
const MAX_GENERATIONS = 500

/** Gathers what an agent tells of what a turn takes; told twice, it counts once. */
export type FigureCollector = { add(figure: Figure): void; read(): TurnFigures }

export function collectFigures({
  model,
  inputTokens,
  outputTokens,
  generationIds,
  endedBy: before,
}: TurnRow): FigureCollector {
  const ids = new Set(generationIds ?? [])
  let used = { model, inputTokens, outputTokens }
  let endedBy = before
  return {
    add(figure) {
      if (figure.type === 'usage') used = { ...figure }
      else if (figure.type === 'early_end') endedBy = figure.reason
      else if (ids.size < MAX_GENERATIONS) ids.add(figure.id)
    },
    read: () => ({
      model: used.model,
      inputTokens: used.inputTokens,
      outputTokens: used.outputTokens,
      generationIds: ids.size > 0 ? [...ids] : null,
      endedBy,
    }),
  }
}

/**
 * What a turn took. What the platform booked for the agent is exact, also where the turn was stopped; where the agent does
 * not name its calls, its own count of tokens is all that is known, and what they cost is null.
 */
export function readFigures(
  db: Db,
  turn: TurnRow,
): Pick<ChatTurn, 'model' | 'inputTokens' | 'outputTokens' | 'costUsd' | 'durationMs' | 'endedBy'> {
  const durationMs = turn.finishedAt ? turn.finishedAt.getTime() - turn.createdAt.getTime() : null
  const { model, inputTokens, outputTokens, endedBy } = turn
  const booked = turn.generationIds ? readBooked(db, turn, turn.generationIds) : null
  if (!booked?.model) return { model, inputTokens, outputTokens, costUsd: null, durationMs, endedBy }
  const { costMicroUsd, unpricedCalls, ...shown } = booked
  return { ...shown, costUsd: toCostUsd({ costMicroUsd, unpricedCalls }), durationMs, endedBy }
}

function readBooked(db: Db, { agentId, userId }: TurnRow, generationIds: string[]) {
  // Whatever an agent names, only its own calls for this user are counted.
  const isOwn = and(
    inArray(usageLogs.generationId, generationIds),
    eq(usageLogs.agentId, agentId),
    eq(usageLogs.userId, userId),
  )
  const sums = db
    .select({
      model: usageLogs.model,
      inputTokens: sum(usageLogs.inputTokens).mapWith(Number),
      outputTokens: sum(usageLogs.outputTokens).mapWith(Number),
      costMicroUsd: sum(usageLogs.costMicroUsd).mapWith(Number),
      unpricedCalls: sum(usageLogs.isUnpriced).mapWith(Number),
    })
    .from(usageLogs)
    .where(isOwn)
    .get()
  return sums ?? null
}
