import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, resizePage } from '../../harness/browser.ts'
import { openDashboard } from '../../harness/browsers/dashboard.ts'
import { createAgent } from '../../harness/client.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the settings of an agent: secret fields align with other fields, and buttons with their left edge',
  async () => {
    await using dashboard = await openDashboard()
    const { web, ada, page } = dashboard
    const agentId = await createAgent(ada, { name: 'Lovelace' })
    await page.goto(`${web}/agents/${agentId}/settings`)
    for (const width of [1280, 360]) {
      await resizePage(page, { width, height: 900 })
      const plain = await page.getByRole('textbox', { name: 'Name', exact: true }).boundingBox()
      for (const label of ['Provider key', 'Telegram bot token', 'Slack app token']) {
        const field = await page.getByLabel(label, { exact: true }).boundingBox()
        const button = await page.getByRole('button', { name: `Save ${label}` }).boundingBox()
        const edges = { x: field?.x, width: field?.width, button: button?.x }
        expect({ label, ...edges }).toEqual({ label, x: plain?.x, width: plain?.width, button: plain?.x })
      }
    }
  },
  LIMIT_MS,
)
