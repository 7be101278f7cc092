import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { findReachableEndpoint } from '../../agents/registry/address.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'

/** Where an agent that runs or sleeps is spoken to. @throws AppError `conflict` AGENT_NOT_RUNNING. */
export function requireEndpoint(sealer: Sealer, agent: AgentRow): AgentEndpoint {
  const endpoint = findReachableEndpoint(sealer, agent)
  if (!endpoint) throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
  return endpoint
}
