import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInOnPage } from '../harness/browser.ts'
import { openDashboard } from '../harness/browsers/dashboard.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { read } from '../harness/requests.ts'
import { openHouse } from '../harness/server.ts'
import { withProvider } from '../journeys/main-job.ts'
import { listOwnPages } from './pages.ts'

/** A guard against waiting for ever, nothing else. */
const LIMIT_MS = 600_000
const SIZES = [
  { width: 360, height: 740 },
  { width: 1440, height: 900 },
]
const THEMES = ['light', 'dark'] as const
/** Where pictures of the pages are put, for somebody who wants to look at them. */
const PICTURES = Bun.env.PAGE_PICTURES

/** A theme or a size that has just come is seen once the page was painted with it. */
const PAINTED = 'new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(() => painted(null))))'

const Made = z.object({ id: z.string() })
const Found = z.array(
  z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })) }),
)

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

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'axe-core finds nothing on the pages, light and dark, on a phone and on a desk',
  async () => {
    await using provider = await startProvider({ text: ANSWER })
    await using house = await openHouse({ environment: withProvider(provider) })
    const { web } = (await house.start()).urls
    const ada = await signUp(web)
    const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
    await ada.post(`/api/browse/write?agentId=${agentId}`, { path: 'notes/plan.md', content: '# Plan\n\n- a *tea*\n' })
    await using browser = await openBrowser(web)
    const { page } = browser
    // Fading in is no state to judge colours by.
    await page.emulateMedia({ reducedMotion: 'reduce' })
    const strangers = ['/', '/login', '/signup', '/forgot-password']
    const found = [...(await checkPages(page, web, strangers))]
    await signInOnPage(page, web)
    await page.goto(`${web}/agents/${agentId}`)
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('What is near?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('.hljs-keyword').first().waitFor()
    const agent = `/agents/${agentId}`
    const swarmId = (await read(Made, ada.post('/api/swarms', { name: 'Editors', agents: [agentId] }))).id
    const run = await read(Made, ada.post(`/api/swarms/${swarmId}/run`, { task: 'What is near?' }))
    const swarm = `/team/swarms/${swarmId}`
    const key = await read(Made, ada.post('/api/keys', { name: 'laptop' }))
    const own = [
      ...listOwnPages(agentId),
      `${agent}/files?path=notes%2Fplan.md`,
      '/models?try=openai%2Fgpt-4o',
      swarm,
      `${swarm}/runs/${run.id}`,
      `/keys/${key.id}`,
    ]
    found.push(...(await checkPages(page, web, own)))
    expect(found).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  "the theme is the system's until one is chosen in the account menu, and stays over a reload",
  async () => {
    await using provider = await startProvider()
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { page, complaints } = dashboard
    await page.emulateMedia({ colorScheme: 'light' })
    const groundOf = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const light = await groundOf()
    await page.emulateMedia({ colorScheme: 'dark' })
    const dark = await groundOf()
    expect(dark).not.toBe(light)
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitemradio', { name: 'Light' }).click()
    expect(await groundOf()).toBe(light)
    await page.reload()
    await page.getByRole('button', { name: /^Account/ }).click()
    expect(await page.getByRole('menuitemradio', { name: 'Light' }).getAttribute('aria-checked')).toBe('true')
    expect(await groundOf()).toBe(light)
    await page.getByRole('menuitemradio', { name: 'System' }).click()
    expect(await groundOf()).toBe(dark)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

async function checkPages(page: Page, web: string, paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of paths) {
    for (const colorScheme of THEMES) {
      // A page that is there keeps a colour of the theme before at times; one that is opened has none to keep.
      await page.emulateMedia({ colorScheme })
      await page.goto(web + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
      // Evaluated, not added: the policy lets no other script in.
      await page.evaluate(axe.source)
      for (const size of SIZES) {
        await resizePage(page, size)
        await page.evaluate(PAINTED)
        const name = `${path} ${colorScheme} ${size.width}`
        if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name.replaceAll(/[/ ]/g, '_')}.png`) })
        found.push(...(await listViolations(page)).map((violation) => `${name}: ${violation}`))
      }
    }
  }
  return found
}

async function listViolations(page: Page): Promise<string[]> {
  const violations = Found.parse(
    await page.evaluate("axe.run({ resultTypes: ['violations'] }).then((r) => r.violations)"),
  )
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.html} ${node.failureSummary ?? ''}`))
}
