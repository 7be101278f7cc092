import type { Notice, NoticeChannel } from '../../src/features/accounts/notifications/schemas.ts'

type Kind = NoticeChannel['kinds'][number]

export const KINDS: readonly { kind: Kind; label: string; hint: string }[] = [
  { kind: 'given_up', label: 'Agent failed', hint: 'The agent failed repeatedly and is no longer restarted.' },
  { kind: 'approval_wanted', label: 'Approval needed', hint: 'The agent is waiting for your approval.' },
  { kind: 'cap_near', label: 'Limit almost reached', hint: '80% of the daily limit is used.' },
  { kind: 'cap_reached', label: 'Limit reached', hint: 'Calls are rejected until midnight UTC.' },
  { kind: 'cost_unusual', label: 'Unusual cost', hint: 'The agent costs more than 3 times its median of 7 days.' },
  {
    kind: 'usage_limit',
    label: 'Monthly limit',
    hint: '50, 80 or 100% of a monthly limit is used. Admins get it for every account.',
  },
  { kind: 'turn_limited', label: 'Turn stopped', hint: 'The turn looped or reached a turn limit.' },
  { kind: 'task_failed', label: 'Task failed', hint: 'A scheduled task or heartbeat failed.' },
  { kind: 'backup_failed', label: 'Backup failed', hint: 'Admins only: the latest backup failed.' },
  { kind: 'down', label: 'Down', hint: 'The agent crashed or is not responding; the watchdog is repairing it.' },
  { kind: 'recovered', label: 'Back online', hint: 'Sent after a Down notification.' },
]

export function describeDeliveries(
  { deliveries }: Pick<Notice, 'deliveries'>,
  channels: readonly Pick<NoticeChannel, 'id' | 'name'>[],
): string {
  if (deliveries.length === 0) return 'Not sent: no channel is subscribed to this type.'
  const nameOf = (id: string) =>
    id === 'mail' ? 'mail' : (channels.find((channel) => channel.id === id)?.name ?? 'a deleted channel')
  return deliveries
    .map(({ channelId, sentAt, error }) => {
      const name = nameOf(channelId)
      if (sentAt !== null) return `sent by ${name}`
      return error === null ? `queued for ${name}` : `${name} ${error}`
    })
    .join(', ')
}
