import type { AgentGateway } from '../../../../adapters/gateways/gateway.ts'
import { BrokenConnection } from '../../../../adapters/gateways/http.ts'
import type { AgentTurnEvent } from '../../../../adapters/gateways/stream.ts'
import { AppError } from '../../../../core/errors.ts'
import type { Sealer } from '../../../../core/secrets.ts'
import type { Db } from '../../../../db/open.ts'
import { pause } from '../../../../jobs/runner.ts'
import { getAgent } from '../../../agents/registry/agents.ts'
import { tellWithAttachments } from '../attachments.ts'
import { requireEndpoint } from '../endpoint.ts'
import { listToldBefore } from '../replace.ts'
import { findInstructions } from '../sessions.ts'
import type { MessageRow, TurnRow } from '../tables.ts'
import type { TurnLog } from './log.ts'

export type AskDeps = { db: Db; sealer: Sealer; gateway: Pick<AgentGateway, 'streamTurn' | 'joinTurn'> }

/** A turn and what is known of it: `again` when it was begun before, by this process or an earlier one. */
export type Asked = { turn: TurnRow; question: MessageRow; log: TurnLog; how: 'anew' | 'again' }

/** An agent that died or was cut off is back within that, or it is given up. */
const REJOIN_MS = 120_000
const REJOIN_PAUSE_MS = 500
/** An agent in one of these will be spoken to again soon. */
const PASSING: ReadonlySet<string> = new Set(['running', 'sleeping', 'provisioning', 'pending', 'unknown'])

/**
 * What the agent says in a turn beyond what its log has. When the connection breaks, the agent is asked what became of the
 * turn; it is never asked the question a second time unless it has not heard of it. An agent that was killed takes the turn
 * up again by itself.
 * @throws AppError of the gateway, `conflict` TURN_INTERRUPTED for a turn that cannot be taken up again.
 */
export async function* askAgent(
  deps: AskDeps,
  asked: Asked,
  signal: AbortSignal,
): AsyncGenerator<AgentTurnEvent, void> {
  let broken = new AppError('upstream_failed', 'The reply was interrupted when the service ended')
  if (asked.how === 'anew') {
    try {
      yield* beyond(asked.log, askAnew(deps, asked, signal))
      return
    } catch (error) {
      if (signal.aborted || !(error instanceof BrokenConnection) || !error.wasReached) throw error
      broken = error
    }
  }
  yield* rejoin(deps, asked, signal, broken)
}

/** @throws `broken` when the agent cannot tell, or stays away. */
async function* rejoin(
  deps: AskDeps,
  asked: Asked,
  signal: AbortSignal,
  broken: AppError,
): AsyncGenerator<AgentTurnEvent, void> {
  const endsAt = performance.now() + REJOIN_MS
  let next: 'join' | 'ask' = 'join'
  for (;;) {
    try {
      const replies = next === 'join' ? joinAgain(deps, asked, signal) : askAnew(deps, asked, signal)
      next = 'join'
      yield* beyond(asked.log, replies)
      return
    } catch (error) {
      signal.throwIfAborted()
      if (hasCode(error, 'TURN_INTERRUPTED')) throw error
      const isUnheard = hasCode(error, 'TURN_NOT_FOUND')
      // What was said is gone from the agent: to ask again would be to have two answers.
      if (isUnheard && asked.log.end > 0) throw broken
      if (!isUnheard && !mayPass(deps, asked.turn, error)) throw error
      if (performance.now() > endsAt) throw broken
      if (isUnheard) next = 'ask'
      else await pause(REJOIN_PAUSE_MS, signal)
    }
  }
}

async function* askAnew(
  deps: AskDeps,
  { turn, question }: Asked,
  signal: AbortSignal,
): AsyncGenerator<AgentTurnEvent, void> {
  const history = listToldBefore(deps.db, question, turn.sessionKey)
  const { content: message, images } = tellWithAttachments(deps.db, question)
  const instructions = findInstructions(deps.db, question.sessionId)
  const asked = { sessionKey: turn.sessionKey, message, images, turnId: turn.id, history }
  const request = { ...asked, ...(instructions !== null && { instructions }) }
  yield* deps.gateway.streamTurn(endpointOf(deps, turn), request, signal)
}

async function* joinAgain(deps: AskDeps, { turn }: Asked, signal: AbortSignal): AsyncGenerator<AgentTurnEvent, void> {
  yield* deps.gateway.joinTurn(endpointOf(deps, turn), turn.id, signal)
}

/** Where the agent is now: a restart may have moved it. */
export function endpointOf(deps: Pick<AskDeps, 'db' | 'sealer'>, turn: TurnRow) {
  return requireEndpoint(deps.sealer, getAgent(deps.db, { kind: 'operator' }, turn.agentId))
}

/** An answer that comes from its beginning, without what is known of it already. */
async function* beyond(log: TurnLog, events: AsyncIterable<AgentTurnEvent>): AsyncGenerator<AgentTurnEvent, void> {
  let known = log.end - log.startPosition
  for await (const event of events) {
    if (event.type === 'restart') {
      if (event.restarts <= log.restarts) continue
      known = 0
      yield event
    } else if (event.type === 'text') {
      const fresh = event.text.slice(known)
      known = Math.max(0, known - event.text.length)
      if (fresh !== '') yield { type: 'text', text: fresh }
    } else if (event.type === 'tool' && known > 0) known -= 1
    else yield event
  }
}

function mayPass(deps: AskDeps, turn: TurnRow, error: unknown): boolean {
  const isAway = error instanceof BrokenConnection || hasCode(error, 'AGENT_NOT_RUNNING')
  return isAway && PASSING.has(getAgent(deps.db, { kind: 'operator' }, turn.agentId).status)
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof AppError && error.extra.code === code
}
