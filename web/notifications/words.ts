import type { Notice, NoticeChannel } from '../../src/features/accounts/notices/schemas.ts'

type Kind = NoticeChannel['kinds'][number]

/** What each kind of notice is about, in the order in which they are offered. */
export const KINDS: readonly { kind: Kind; label: string; hint: string }[] = [
  { kind: 'given_up', label: 'Given up', hint: 'It failed again and again, and is not started any more.' },
  { kind: 'approval_wanted', label: 'Approval wanted', hint: 'It must not go on without you.' },
  { kind: 'cap_near', label: 'Limit near', hint: '80 % of its daily limit is used.' },
  { kind: 'cap_reached', label: 'Limit reached', hint: 'Calls are refused until midnight UTC.' },
  { kind: 'turn_limited', label: 'Turn stopped', hint: 'It went in circles, or reached what one turn may take.' },
  { kind: 'task_failed', label: 'Task failed', hint: 'A scheduled task or a heartbeat came to nothing.' },
  { kind: 'backup_failed', label: 'Backup failed', hint: 'Told to admins alone: there is no new backup.' },
  { kind: 'down', label: 'Down', hint: 'It crashed or does not answer; the watchdog is at it.' },
  { kind: 'recovered', label: 'Runs again', hint: 'After you were told that it is down.' },
]

/** What became of a notice on its way, in one sentence. */
export function describeDeliveries(
  { deliveries }: Pick<Notice, 'deliveries'>,
  channels: readonly Pick<NoticeChannel, 'id' | 'name'>[],
): string {
  if (deliveries.length === 0) return 'Told nowhere: no channel wants this kind.'
  const nameOf = (id: string) =>
    id === 'mail' ? 'mail' : (channels.find((channel) => channel.id === id)?.name ?? 'a channel that is gone')
  return deliveries
    .map(({ channelId, sentAt, error }) => {
      const name = nameOf(channelId)
      if (sentAt !== null) return `sent by ${name}`
      return error === null ? `waits for ${name}` : `${name} ${error}`
    })
    .join(', ')
}
