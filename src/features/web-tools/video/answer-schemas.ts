import { z } from 'zod'

/** `POST /api/generate-video`. */
export const GenerateVideoAnswer = z.object({ url: z.string() })
