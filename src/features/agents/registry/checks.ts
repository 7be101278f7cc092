import type { ChannelTokens, TryTokens } from '../../../adapters/channels/try-tokens.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { AgentRow } from './tables.ts'

/** For whom a model is chosen: `ownerId` is null for an agent of the operator; `hasOwnKey`: the agent asks a provider with a key of its own. */
type ModelOwner = { ownerId: string | null; hasOwnKey: boolean }

/**
 * Rejects a model that nobody offers to the owner. A model that only a provider without a list could offer passes.
 * @throws AppError `invalid` UNKNOWN_MODEL naming near matches.
 */
export type CheckModel = (model: string | undefined, owner: ModelOwner) => void

/** Tokens that somebody wants to save; null takes one away. */
type OfferedTokens = ChannelTokens & { whatsappToken?: string | null | undefined }

/**
 * Sees to it that a token is good and that something will use it; `agent` is null for one that is about to be made.
 * @throws AppError `invalid` for a token that agents of this kind have no use for, and as `TryTokens`.
 */
export type CheckTokens = (tokens: OfferedTokens, agent: Pick<AgentRow, 'kind' | 'runtime'> | null) => Promise<void>

type Needs = { tryTokens: TryTokens; runtimes: Pick<Runtimes, 'choose'> }

export function createTokenCheck({ tryTokens, runtimes }: Needs): CheckTokens {
  return async (tokens, agent) => {
    const { whatsappToken, slackBotToken, slackAppToken } = tokens
    if (whatsappToken || slackBotToken || slackAppToken) requireUse(tokens, await findKind(runtimes, agent))
    await tryTokens(tokens)
  }
}

/** Null for an agent in a container that was never started: its image says what it is. */
async function findKind(
  runtimes: Needs['runtimes'],
  agent: Parameters<CheckTokens>[1],
): Promise<AgentRow['kind'] | null> {
  if (agent && agent.runtime !== null) return agent.kind
  return (await runtimes.choose()) === 'process' ? 'stead' : null
}

function requireUse({ whatsappToken, slackBotToken, slackAppToken }: OfferedTokens, kind: AgentRow['kind'] | null) {
  if (whatsappToken && kind === 'stead') {
    throw new AppError('invalid', 'Only agents that are OpenClaw speak WhatsApp: nothing would use this token')
  }
  if ((slackBotToken || slackAppToken) && kind === 'openclaw') {
    throw new AppError('invalid', 'Only agents of the built-in kind speak Slack here: nothing would use this token')
  }
}

/** Why no command may be run for an agent; null where its runtime keeps what it does away from everything else. */
export function whyUnconfined({ runtime, kind }: Pick<AgentRow, 'runtime' | 'kind'>): string | null {
  if (kind === 'openclaw') return 'OpenClaw has tools of its own for that'
  if (runtime === null) return 'its runtime is unknown until it is started'
  if (runtime === 'process') return 'needs a container; this agent runs as a plain process'
  return null
}

/** @throws AppError `invalid` NOT_CONFINED, saying why, where `what` would not be confined. */
export function requireConfined(agent: Pick<AgentRow, 'runtime' | 'kind'>, what: string): void {
  const reason = whyUnconfined(agent)
  if (reason !== null) {
    throw new AppError('invalid', `${what} is not possible for this agent: ${reason}.`, { code: 'NOT_CONFINED' })
  }
}
