import type { Telegram } from '../../../adapters/channels/telegram.ts'
import type { Webhook } from '../../../adapters/channels/webhook.ts'
import type { Sent } from '../../../adapters/egress/outbound.ts'
import type { Clock } from '../../../core/clock.ts'
import { toText, toWebhookBody } from './compose.ts'
import type { ChannelName, Notification } from './schemas.ts'

/** A way to operators. `send` says what became of it. @throws the signal's reason when that aborts. */
export type Channel = {
  readonly name: ChannelName
  send(notification: Notification, signal: AbortSignal): Promise<Sent>
}

/** The channels that are configured (Interface 6); null is none. */
export function createChannels(outside: {
  telegram: Telegram | null
  webhook: Webhook | null
  clock: Clock
}): Channel[] {
  const { telegram, webhook, clock } = outside
  const channels: Channel[] = []
  if (telegram) {
    channels.push({ name: 'telegram', send: (notification, signal) => telegram.send(toText(notification), signal) })
  }
  if (webhook) {
    channels.push({
      name: 'webhook',
      send: (notification, signal) =>
        webhook.send({ id: notification.id, body: toWebhookBody(notification) }, clock.now(), signal),
    })
  }
  return channels
}
