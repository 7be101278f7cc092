import type { Page } from 'playwright-core'
import { z } from 'zod'
import { openBrowser, signInBrowser } from '../harness/browser.ts'
import { type Line, openLine } from '../harness/browsers/line.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { read } from '../harness/requests.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { withProvider } from '../integration/journeys/main-job.ts'
import { listOwnPages } from './pages.ts'

const ANSWER = `## What I found

Two **lighthouses** near [the coast](https://example.com), see \`map.md\`:

1. Cape Clear
2. Fastnet

- [x] asked
- [ ] visited

> It was built in 1904.

| Name | Height | Since | Keeper |
| --- | ---: | --- | --- |
| Fastnet | 54 m | 1904 | nobody, since 1989 |

\`\`\`ts
// How high it is.
export function height(name: string): number {
  return name === 'Fastnet' ? 54 : Number.NaN
}
\`\`\``

const Made = z.object({ id: z.string() })

/** A browser of an owner whose agent has worked. */
export type Tour = AsyncDisposable & {
  page: Page
  line: Line
  web: string
  dataDir: string
  agentId: string
  /** `own` has one page of each kind; `furnished` are pages of resources that the tour creates. */
  paths: { own: string[]; furnished: string[] }
  complaints: string[]
}

/** Opens the agent's conversation as its owner. */
export async function startTour(): Promise<Tour> {
  await using stack = new AsyncDisposableStack()
  const provider = stack.use(await startProvider({ text: ANSWER }))
  const installation = stack.use(await openInstallation({ environment: withProvider(provider) }))
  const { web } = (await installation.start()).urls
  const ada = await signUp(web)
  const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
  await ada.post(`/api/browse/write?agentId=${agentId}`, { path: 'notes/plan.md', content: '# Plan\n\n- a *tea*\n' })
  const swarm = await read(Made, ada.post('/api/swarms', { name: 'Editors', agents: [agentId] }))
  const run = await read(Made, ada.post(`/api/swarms/${swarm.id}/run`, { task: 'What is near?' }))
  const key = await read(Made, ada.post('/api/keys', { name: 'laptop' }))
  const { page, complaints } = stack.use(await openBrowser(web))
  await signInBrowser(page, web)
  await page.goto(`${web}/agents/${agentId}`)
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('What is near?')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('.hljs-keyword').first().waitFor()
  const line = await openLine(page)
  const furnished = [
    `/agents/${agentId}/files?path=notes%2Fplan.md`,
    '/models?try=openai%2Fgpt-4o',
    `/team/swarms/${swarm.id}`,
    `/team/swarms/${swarm.id}/runs/${run.id}`,
    `/keys/${key.id}`,
  ]
  const paths = { own: listOwnPages(agentId), furnished }
  const everything = stack.move()
  const { dataDir } = installation
  return {
    ...{ page, line, web, dataDir, agentId, paths, complaints },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

/** Opens a page and waits until its first requests have finished. */
export async function visit(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await untilLoaded(page)
}

export async function untilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await until('everything to be loaded', async () => (await page.locator('[aria-busy="true"]').count()) === 0)
}
