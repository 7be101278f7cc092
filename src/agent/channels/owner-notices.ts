import QuickLRU from 'quick-lru'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { OwnerChannel } from './questions.ts'

const MAX_REMEMBERED = 100
const DAY_MS = 24 * 3_600_000

/** Writes to the owners in their messengers; the same `key` at most once a day. Returns at once. */
export type NotifyOwners = (key: string, text: string) => void

export function createOwnerNotices(deps: { listChannels: () => readonly OwnerChannel[]; log: Log }): NotifyOwners {
  const sent = new QuickLRU<string, true>({ maxSize: MAX_REMEMBERED, maxAge: DAY_MS })
  const sendTo = async ({ name, service }: OwnerChannel, owner: string, text: string) => {
    try {
      await service.write(await service.findDirect(owner), service.toLiteral(text), null)
    } catch (error) {
      // Owner ids of several messengers are mixed in one setting, so most channels cannot resolve some of them.
      deps.log.info({ channel: name, error: errorMessage(error) }, 'an owner is unknown to this channel')
    }
  }
  return (key, text) => {
    if (sent.has(key)) return
    sent.set(key, true)
    for (const channel of deps.listChannels()) {
      for (const owner of channel.owners) void sendTo(channel, owner, text)
    }
  }
}
