import type { Hono } from 'hono'
import { VERSION } from '../core/version.ts'
import { healthSummarizer, probes } from '../features/monitoring/health/routes.ts'
import { summarizerRoutes } from '../features/web-tools/summarizer/summarizer.ts'
import type { BaseEnv } from '../http/env.ts'
import { type ApiDocuments, apiDocumentRoutes } from './api-document/served.ts'
import type { Platform } from './platform.ts'

/** Mounts the summarizer API: one line per feature. */
export function mountSummarizer(root: Hono<BaseEnv>, { monitoring, webTools }: Platform, documents: ApiDocuments) {
  const app = root.basePath('/summarizer')
  app.route('/', probes(monitoring))
  app.route('/', apiDocumentRoutes(documents, 'summarizer'))
  app.route('/', healthSummarizer({ version: VERSION, payTo: webTools.payTo }))
  app.route('/', summarizerRoutes(webTools))
}
