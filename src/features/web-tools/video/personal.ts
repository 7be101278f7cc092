import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { videos } from './tables.ts'

/** Videos that were ordered. */
export const personalVideos: PersonalList = {
  name: 'videos',
  tables: [videos],
  pages: (db, userId) =>
    inPages(db, {
      table: videos,
      condition: eq(videos.userId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(videos)
          .where(isOnPage)
          .all()
          .map(({ userId: _, ...video }) => video),
    }),
}
