import { z } from 'zod'
import { Feed, FeedList } from './schemas.ts'

/** `GET /api/feeds`. */
export const FeedsAnswer = z.union([FeedList, Feed])
