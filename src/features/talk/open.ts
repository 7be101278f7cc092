import type { AgentGateway } from '../../adapters/gateways/gateway.ts'
import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'
import type { Asking } from './agent-talk/agent-messages.ts'
import { createTurns } from './chat/turns/turns.ts'

type TalkSettings = Pick<Config, 'webhooks'>

/** Opens what the rooms of talk share. */
export function openTalk(base: Base, { webhooks }: TalkSettings, { gateway }: { gateway: AgentGateway }) {
  const asking: Asking = new Map()
  return { webhooks, asking, turns: createTurns({ ...base, gateway }) }
}
