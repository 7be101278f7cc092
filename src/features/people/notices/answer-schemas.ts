import { z } from 'zod'
import { NoticeChannel } from './schemas.ts'

/** `PATCH /api/notices/channels/:id`. */
export const ChangedNoticesChannelAnswer = z.object({ channel: NoticeChannel })
