import type { Config } from '../../core/config.ts'

type TalkSettings = Pick<Config, 'webhooks'>

/** Opens what the rooms of talk share. */
export function openTalk({ webhooks }: TalkSettings) {
  return { webhooks }
}
