import type { ChannelTokens, TryTokens } from '../../../adapters/channels/try-tokens.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { AgentRow } from './tables.ts'

/** `ownerId` is null for an agent of the operator; `hasOwnKey` when the agent has its own provider key. */
type ModelOwner = { ownerId: string | null; hasOwnKey: boolean }

/**
 * Rejects a model that no provider offers to the owner. Passes when a provider without a model list could offer it.
 * @throws AppError `invalid` UNKNOWN_MODEL naming near matches.
 */
export type CheckModel = (model: string | undefined, owner: ModelOwner) => void

/** Tokens to be saved; null removes one. */
type OfferedTokens = ChannelTokens & { whatsappToken?: string | null | undefined }

/**
 * Checks that a token is valid and that the agent can use it; `agent` is null before its creation.
 * @throws AppError `invalid` for a token that this kind of agent cannot use, and as `TryTokens`.
 */
export type CheckTokens = (tokens: OfferedTokens, agent: Pick<AgentRow, 'kind' | 'runtime'> | null) => Promise<void>

export function createTokenCheck({
  tryTokens,
  runtimes,
}: {
  tryTokens: TryTokens
  runtimes: Pick<Runtimes, 'choose'>
}): CheckTokens {
  return async (tokens, agent) => {
    const { whatsappToken, slackBotToken, slackAppToken } = tokens
    if (whatsappToken || slackBotToken || slackAppToken) requireUse(tokens, await findKind(runtimes, agent))
    await tryTokens(tokens)
  }
}

/** Returns the agent's program; null for a container that was never started. */
async function findKind(
  runtimes: Pick<Runtimes, 'choose'>,
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

/** Returns why commands cannot be confined for an agent; null when its runtime confines them. */
export function whyUnconfined({ runtime, kind }: Pick<AgentRow, 'runtime' | 'kind'>): string | null {
  if (kind === 'openclaw') return 'OpenClaw has tools of its own for that'
  if (runtime === null) return 'its runtime is unknown until it is started'
  if (runtime === 'process') return 'needs a container; this agent runs as a plain process'
  return null
}

/** Rejects `what` for an unconfined agent. @throws AppError `invalid` NOT_CONFINED with the reason. */
export function requireConfined(agent: Pick<AgentRow, 'runtime' | 'kind'>, what: string): void {
  const reason = whyUnconfined(agent)
  if (reason !== null) {
    throw new AppError('invalid', `${what} is not possible for this agent: ${reason}.`, { code: 'NOT_CONFINED' })
  }
}
