import { Hono } from 'hono'
import { VERSION } from '../core/version.ts'
import { healthSummarizer } from '../features/health/summarizer.ts'
import type { BaseEnv } from '../http/env.ts'

/** The summarizer face. One line a room. */
export function summarizerApp() {
  const app = new Hono<BaseEnv>()
  app.route('/', healthSummarizer({ version: VERSION }))
  return app
}
