import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import { setCompletedHeaders, toUsage } from '../gateway/answers.ts'
import { chatWithDemo, type DemoDeps, listDemoModels } from './chat.ts'
import { DemoChatRequest, DemoModels, DemoReply } from './schemas.ts'

/** The public demonstration. */
export function demoWeb(deps: DemoDeps & { requestsPerMinute: { demo: number } }) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/demo/chat',
    endpoint({ summary: 'Lists the models of the demo', tag: 'Models', responses: { 200: DemoModels } }),
    (c) =>
      c.json({
        models: listDemoModels(deps),
        mode: 'demo',
        message: 'Welcome to the demo: try AI models without an account',
      }),
  )

  app.post(
    '/api/demo/chat',
    endpoint({
      summary: 'Answers a demo message without an account',
      tag: 'Models',
      responses: { 200: DemoReply },
      errors: ['payment_required', 'not_found', 'internal', 'unavailable'],
      worksOnFullDisk: true,
    }),
    limitRate(() => deps.requestsPerMinute.demo, 'Too many requests'),
    validate('json', DemoChatRequest),
    async (c) => {
      const answer = await chatWithDemo(deps, c.req.valid('json'))
      const { id, demoModel, content } = answer
      setCompletedHeaders(c, answer)
      return c.json({
        id,
        model: demoModel,
        message: content,
        usage: toUsage(answer),
        done: true,
      })
    },
  )

  return app
}
