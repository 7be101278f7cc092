import { eq } from 'drizzle-orm'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import { type PersonalList, wholeList } from '../../../db/personal-data.ts'
import { noticeChannels, noticeSettings, notices } from './tables.ts'

/** How somebody wants to be told. */
export const personalNoticeSettings = wholeList('noticeSettings', [noticeSettings], (db, userId) => {
  const { mailKinds, quietFrom, quietTo, timeZone, resendMinutes, mutedAgents, updatedAt } = noticeSettings
  return db
    .select({ mailKinds, quietFrom, quietTo, timeZone, resendMinutes, mutedAgents, updatedAt })
    .from(noticeSettings)
    .where(eq(noticeSettings.userId, userId))
    .all()
})

/** Where else than by mail, without what it takes to write there. */
export const personalNoticeChannels = wholeList('noticeChannels', [noticeChannels], (db, userId) => {
  const { kind, name, kinds, createdAt, lastSentAt } = noticeChannels
  return db
    .select({ kind, name, kinds, createdAt, lastSentAt })
    .from(noticeChannels)
    .where(eq(noticeChannels.userId, userId))
    .all()
})

/** What somebody was told of their agents. */
export const personalNotices: PersonalList = {
  name: 'notices',
  tables: [notices],
  pages: (db, userId) =>
    inPages(db, {
      table: notices,
      condition: eq(notices.userId, userId),
      sizeBytes: bytesOf(notices.text),
      read: (isOnPage) => {
        const { kind, agentName, text, createdAt, endedAt } = notices
        return db.select({ kind, agentName, text, createdAt, endedAt }).from(notices).where(isOnPage).all()
      },
    }),
}
