import { Hono } from 'hono'
import { VERSION } from '../core/version.ts'
import { probes } from '../features/views/health/probes.ts'
import { healthSummarizer } from '../features/views/health/summarizer.ts'
import { summarizerRoutes } from '../features/web-tools/summarizer/summarizer.ts'
import type { BaseEnv } from '../http/env.ts'
import type { Platform } from './platform.ts'

/** The summarizer face. One line a room. */
export function summarizerApp(platform: Platform) {
  const app = new Hono<BaseEnv>()
  app.route('/', probes(platform))
  app.route('/', healthSummarizer({ version: VERSION, payTo: platform.summarizerPayTo }))
  app.route('/', summarizerRoutes(platform))
  return app
}
