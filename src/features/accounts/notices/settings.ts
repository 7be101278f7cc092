import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { QuietHours } from './quiet-hours.ts'
import type { ChangeNoticeSettings, NoticeKind } from './schemas.ts'
import { noticeSettings } from './tables.ts'

/** What is mailed unless somebody says otherwise: that which needs its owner. */
const MAILED: readonly NoticeKind[] = [
  'given_up',
  'cap_near',
  'cap_reached',
  'approval_wanted',
  'turn_limited',
  'task_failed',
  'backup_failed',
]

export type Wishes = {
  mailKinds: readonly NoticeKind[]
  quietHours: QuietHours | null
  resendMinutes: number | null
  mutedAgents: readonly string[]
}

export function findWishes(db: Db, userId: string): Wishes {
  const row = db.select().from(noticeSettings).where(eq(noticeSettings.userId, userId)).get()
  if (!row) return { mailKinds: MAILED, quietHours: null, resendMinutes: null, mutedAgents: [] }
  const { mailKinds, quietFrom, quietTo, timeZone, resendMinutes, mutedAgents } = row
  const quietHours = quietFrom && quietTo ? { from: quietFrom, to: quietTo, timeZone } : null
  return { mailKinds, quietHours, resendMinutes, mutedAgents }
}

export async function changeWishes(
  { db, clock }: { db: Db; clock: Clock },
  userId: string,
  change: ChangeNoticeSettings,
): Promise<void> {
  await write(db, (tx) => {
    const before = findWishes(tx, userId)
    const row = { ...toColumns(before, change), updatedAt: clock.now() }
    tx.insert(noticeSettings)
      .values({ userId, ...row })
      .onConflictDoUpdate({ target: noticeSettings.userId, set: row })
      .run()
  })
}

/** What the change leaves out stays as it was. */
function toColumns(before: ReturnType<typeof findWishes>, change: ChangeNoticeSettings) {
  const quietHours = change.quietHours === undefined ? before.quietHours : change.quietHours
  return {
    mailKinds: [...(change.mailKinds ?? before.mailKinds)],
    quietFrom: quietHours?.from ?? null,
    quietTo: quietHours?.to ?? null,
    timeZone: quietHours?.timeZone ?? 'UTC',
    resendMinutes: change.resendMinutes === undefined ? before.resendMinutes : change.resendMinutes,
    mutedAgents: [...(change.mutedAgents ?? before.mutedAgents)],
  }
}
