import type { ChannelTokens, TryTokens } from '../../../adapters/channels/try-tokens.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { ShownIsolation } from './schemas.ts'
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

type IsolatedRow = Pick<AgentRow, 'runtime' | 'kind' | 'isolation'>

/** Returns how an agent is isolated, as of its last start, and whether its runtime enforces egress policies. */
export function toShownIsolation(
  agent: Pick<AgentRow, 'runtime' | 'isolation'>,
  runtimes: Pick<Runtimes, 'runtimeOf'>,
): ShownIsolation {
  const egressEnforced = agent.runtime !== null && findEgressGap(agent, runtimes) === null
  return { ...readIsolation(agent), egressEnforced }
}

/** Returns why an agent can bypass its egress policy; null when it cannot. */
export function findEgressGap(
  agent: Pick<AgentRow, 'runtime' | 'isolation'>,
  runtimes: Pick<Runtimes, 'runtimeOf'>,
): string | null {
  if (agent.runtime === 'process' && agent.isolation?.egressEnforced) return null
  return runtimes.runtimeOf(agent).egressGap()
}

function readIsolation({ runtime, isolation }: Pick<AgentRow, 'runtime' | 'isolation'>): ShownIsolation {
  if (runtime === null) return { state: 'not_isolated', ...NONE, reason: 'it was not started yet' }
  if (runtime === 'docker' || runtime === 'swarm') return { state: 'isolated', ...NONE, by: 'docker' }
  if (runtime !== 'process') return { state: 'not_isolated', ...NONE, reason: 'it runs on its owner’s machine' }
  const known = isolation ?? { ...NONE, reason: 'it was started by an earlier version; restart it' }
  return { state: known.by === null ? 'not_isolated' : 'isolated', ...known }
}

const NONE = { by: null, reason: null, egressEnforced: false } as const

/** Returns why commands cannot be isolated for an agent; null when its runtime isolates them. */
export function whyUnconfined(agent: IsolatedRow): string | null {
  if (agent.kind === 'openclaw') return 'OpenClaw has tools of its own for that'
  if (agent.runtime === null) return 'its runtime is unknown until it is started'
  const { state, reason } = readIsolation(agent)
  return state === 'isolated' ? null : `it is not isolated: ${reason}`
}

/** Returns whether the owner may accept that the agent's commands are not isolated. */
export function mayAcceptNotIsolated({ kind, runtime }: IsolatedRow): boolean {
  return kind === 'stead' && runtime === 'process'
}

/** Rejects `what` for an unconfined agent. @throws AppError `invalid` NOT_CONFINED with the reason. */
export function requireConfined(agent: IsolatedRow, what: string, hint = ''): void {
  const reason = whyUnconfined(agent)
  if (reason === null) return
  const message = `${what} is not possible for this agent: ${reason}. ${hint}`.trim()
  throw new AppError('invalid', message, { code: 'NOT_CONFINED' })
}
