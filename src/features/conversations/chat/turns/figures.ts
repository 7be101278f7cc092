import { and, eq, inArray, isNull, or, sum } from 'drizzle-orm'
import type { AgentTurnEvent } from '../../../../adapters/gateways/stream.ts'
import { MAX_GENERATIONS } from '../../../../core/agents/collect-turn.ts'
import type { Db } from '../../../../db/open.ts'
import { toCostUsd } from '../../../ai/usage/costs.ts'
import { usageLogs } from '../../../ai/usage/tables.ts'
import type { ChatTurn, TurnSummary } from '../schemas.ts'
import { chatTurns, type MessageRow, type TurnRow } from '../tables.ts'
import { listToolCalls, type UsageColumns } from './store.ts'

type Figure = Extract<AgentTurnEvent, { type: 'generation' | 'usage' | 'early_end' }>

/** Collects the usage that an agent reports; repeated reports count once. */
export type FigureCollector = { add(figure: Figure): void; read(): UsageColumns }

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
 * Returns the usage of a turn. Usage recorded by the platform is exact, also for stopped turns; without generation ids
 * only the agent's token counts are known, and the cost is null.
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
  // Counts only the agent's own calls for this user, whatever ids it reports.
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

/** Returns summaries of turns by the id of their reply, or of their question without a reply. */
export function summarizeTurns(db: Db, rows: readonly MessageRow[]): Map<string, { turn: TurnSummary }> {
  const replyIds = rows.flatMap(({ id, sender }) => (sender === 'agent' ? [id] : []))
  const unanswered = rows.flatMap(({ id, sender, status }) => (sender === 'user' && status === 'failed' ? [id] : []))
  const isUnanswered = and(inArray(chatTurns.questionId, unanswered), isNull(chatTurns.replyId))
  const turns = db
    .select()
    .from(chatTurns)
    .where(or(inArray(chatTurns.replyId, replyIds), isUnanswered))
    .all()
  return new Map(
    turns.map((turn) => {
      const toolCalls = listToolCalls(db, turn.id).map(({ name, success, durationMs }) => ({
        name,
        success,
        durationMs,
      }))
      const { id, restarts, errorCode } = turn
      return [
        turn.replyId ?? turn.questionId,
        { turn: { id, restarts, errorCode, ...readFigures(db, turn), toolCalls } },
      ]
    }),
  )
}
