import type { AgentGateway } from '../../adapters/gateways/gateway.ts'
import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'
import { createTurns } from './chat/turns/turns.ts'

type TalkSettings = Pick<Config, 'webhooks'>

/** Opens what the rooms of talk share. */
export function openTalk(base: Base, { webhooks }: TalkSettings, { gateway }: { gateway: AgentGateway }) {
  return { webhooks, turns: createTurns({ ...base, gateway }) }
}
