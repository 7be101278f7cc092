import type { AgentGateway } from '../../../../adapters/gateways/gateway.ts'
import type { AgentEndpoint } from '../../../../adapters/gateways/http.ts'
import { BrokenConnection } from '../../../../adapters/gateways/http.ts'
import type { AgentTurnEvent } from '../../../../adapters/gateways/stream.ts'
import { AppError } from '../../../../core/errors.ts'
import type { Sealer } from '../../../../core/secrets.ts'
import type { Db } from '../../../../db/open.ts'
import { pause } from '../../../../jobs/runner.ts'
import { findMachineProblem, findReachableEndpoint } from '../../../agents/registry/address.ts'
import { getAgent } from '../../../agents/registry/agents.ts'
import type { AgentRow } from '../../../agents/registry/tables.ts'
import type { Base } from '../../../base.ts'
import { toAgentMessage } from '../attachments.ts'
import { listMessagesBefore } from '../replace.ts'
import { findInstructions } from '../sessions.ts'
import type { MessageRow, TurnRow } from '../tables.ts'
import type { TurnLog } from './log.ts'

/** A turn to carry out. `again`: it was started before, by this process or an earlier one. */
export type Asked = { turn: TurnRow; question: MessageRow; log: TurnLog; how: 'anew' | 'again' }

/** Longest outage of an agent before its turn fails. */
const REJOIN_MS = 120_000
/** A machine keeps its turns, and its owner may need a while to bring it back. */
const REJOIN_MACHINE_MS = 3_600_000
const REJOIN_PAUSE_MS = 500
/** Statuses of agents that will be reachable again soon. */
const PASSING: ReadonlySet<string> = new Set(['running', 'sleeping', 'provisioning', 'pending', 'unknown'])

/**
 * Yields the agent's events that are missing in the log. After a broken connection it asks the agent for the turn's
 * state; it sends the question again only if the agent does not know the turn. A killed agent resumes the turn by
 * itself.
 * @throws AppError of the gateway; `conflict` TURN_INTERRUPTED for a turn that cannot be resumed.
 */
export async function* streamAnswer(
  deps: Base & { gateway: Pick<AgentGateway, 'streamTurn' | 'joinTurn'> },
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

/** @throws `broken` when the agent does not know the turn or stays unreachable. */
async function* rejoin(
  deps: Base & { gateway: Pick<AgentGateway, 'streamTurn' | 'joinTurn'> },
  asked: Asked,
  signal: AbortSignal,
  broken: AppError,
): AsyncGenerator<AgentTurnEvent, void> {
  const { runtime } = getAgent(deps.db, { kind: 'operator' }, asked.turn.agentId)
  const endsAt = performance.now() + (runtime === 'machine' ? REJOIN_MACHINE_MS : REJOIN_MS)
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
      // The agent has lost the partial answer: asking again would produce a second one.
      if (isUnheard && asked.log.end > 0) throw broken
      if (!isUnheard && !mayPass(deps, asked.turn, error)) throw error
      if (performance.now() > endsAt) throw broken
      if (isUnheard) next = 'ask'
      else await pause(REJOIN_PAUSE_MS, signal)
    }
  }
}

async function* askAnew(
  deps: Base & { gateway: Pick<AgentGateway, 'streamTurn' | 'joinTurn'> },
  { turn, question }: Asked,
  signal: AbortSignal,
): AsyncGenerator<AgentTurnEvent, void> {
  const history = listMessagesBefore(deps.db, question, turn.sessionKey)
  const { content: message, images } = toAgentMessage(deps.db, question)
  const instructions = findInstructions(deps.db, question.sessionId)
  const asked = { sessionKey: turn.sessionKey, message, images, turnId: turn.id, history }
  const request = { ...asked, ...(instructions !== null && { instructions }) }
  yield* deps.gateway.streamTurn(requireTurnEndpoint(deps, turn), request, signal)
}

async function* joinAgain(
  deps: Base & { gateway: Pick<AgentGateway, 'streamTurn' | 'joinTurn'> },
  { turn }: Asked,
  signal: AbortSignal,
): AsyncGenerator<AgentTurnEvent, void> {
  yield* deps.gateway.joinTurn(requireTurnEndpoint(deps, turn), turn.id, signal)
}

/** Returns the agent's current address, which a restart may have changed. */
export function requireTurnEndpoint(deps: { db: Db; sealer: Sealer }, turn: TurnRow) {
  return requireEndpoint(deps.sealer, getAgent(deps.db, { kind: 'operator' }, turn.agentId))
}

/** Skips the part of a repeated answer that the log already has. */
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

function mayPass(deps: { db: Db }, turn: TurnRow, error: unknown): boolean {
  const isAway =
    error instanceof BrokenConnection || hasCode(error, 'AGENT_NOT_RUNNING') || hasCode(error, 'MACHINE_OFFLINE')
  return isAway && PASSING.has(getAgent(deps.db, { kind: 'operator' }, turn.agentId).status)
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof AppError && error.extra.code === code
}

/**
 * Returns the address of a running or sleeping agent.
 * @throws AppError `conflict` AGENT_NOT_RUNNING, `unavailable` MACHINE_OFFLINE.
 */
export function requireEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint {
  const endpoint = findReachableEndpoint(sealer, agent)
  const problem = findMachineProblem(agent)
  if (problem) throw problem
  if (!endpoint) throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
  return endpoint
}
