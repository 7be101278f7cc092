import type { AgentGateway } from '../../../../adapters/gateways/gateway.ts'
import { AppError } from '../../../../core/errors.ts'
import type { Sealer } from '../../../../core/secrets.ts'
import type { Db } from '../../../../db/open.ts'
import { getAgent } from '../../../agents/registry/list.ts'
import { requireEndpoint } from '../endpoint.ts'
import type { MessageRow, TurnRow } from '../tables.ts'
import type { TurnEvent } from './log.ts'

type AskDeps = { db: Db; sealer: Sealer; gateway: Pick<AgentGateway, 'streamChat'> }

/**
 * What the agent says to the question of a turn, from the beginning. A turn that an earlier process began is not asked
 * again: the agent may have answered.
 * @throws AppError of the gateway; `conflict` when the agent no longer runs, `upstream_failed` for a turn cut short.
 */
export async function* askAgent(
  deps: AskDeps,
  { turn, question, how }: { turn: TurnRow; question: MessageRow; how: 'anew' | 'again' },
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  if (how === 'again') throw new AppError('upstream_failed', 'The reply was interrupted when the service ended')
  const agent = getAgent(deps.db, { kind: 'operator' }, turn.agentId)
  const request = { sessionKey: turn.sessionKey, message: question.content }
  for await (const text of deps.gateway.streamChat(requireEndpoint(deps.sealer, agent), request, signal)) {
    yield { type: 'text', text }
  }
}
