import { Hono } from 'hono'
import { VERSION } from '../core/version.ts'
import { probes } from '../features/health/probes.ts'
import { healthSummarizer } from '../features/health/summarizer.ts'
import { summarizerRoutes } from '../features/summarizer/summarizer.ts'
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
