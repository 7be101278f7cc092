import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'

type TalkSettings = Pick<Config, 'webhooks'>

/** Opens what the rooms of talk share. */
export function openTalk(_base: Base, { webhooks }: TalkSettings) {
  return { webhooks }
}
