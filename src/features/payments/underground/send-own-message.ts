import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { findAgentRow } from '../../agents/registry/agents.ts'
import { findWallet, openAccount } from '../wallets/create.ts'
import type { OwnMessage, SendRequest } from './schemas.ts'
import type { SendDeps, SendMessage } from './send-message.ts'
import { toSignedText } from './verify-message.ts'

/** Interface 4.8, the form of messages that this platform composes. */
const VERSION = '1.0'

/**
 * Sends a message of an agent whose wallet is kept here: it is signed with that wallet and taken like any other.
 * @throws AppError `not_found` for an agent without a wallet, and as `SendMessage`.
 */
export async function sendOwnMessage(
  deps: SendDeps,
  send: SendMessage,
  agentId: string,
  { messageId = newId('msg'), to, action, payload }: OwnMessage,
): Promise<{ messageId: string }> {
  const agent = findAgentRow(deps.db, agentId)
  const wallet = agent?.ownerId ? findWallet(deps.db, { userId: agent.ownerId, agentId }) : null
  if (!agent || !wallet) throw new AppError('not_found', 'This agent has no wallet to sign with')
  const from = { agentId, agentType: agent.specialization ?? 'general', walletAddress: wallet.address }
  const message: SendRequest = {
    version: VERSION,
    messageId,
    timestamp: deps.clock.now().toISOString(),
    from,
    to,
    action,
    payload,
  }
  const account = await openAccount(deps, wallet)
  const signature = await account.signMessage({ message: await toSignedText(message, from) })
  await send({ ...message, from: { ...from, signature } })
  return { messageId }
}
