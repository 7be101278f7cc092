import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../harness/browser.ts'
import { openInstallation } from '../harness/server.ts'

const LIMIT_MS = 600_000
const SIZES = [
  { width: 390, height: 780 },
  { width: 1280, height: 800 },
]

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the search of the documents: opens with /, ranks headings first and follows the keyboard',
  async () => {
    await using installation = await openInstallation()
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    for (const size of SIZES) {
      await resizePage(page, size)
      await page.goto(`${web}/docs/agents`)
      await page.keyboard.press('/')
      await page.keyboard.type('lost encryption key')
      const option = page.getByRole('option').first()
      await option.getByText('Backups › Lost encryption key').waitFor()
      const box = await option.boundingBox()
      expect(box && box.x >= 0 && box.x + box.width <= size.width).toBe(true)
      await page.keyboard.press('ArrowDown')
      expect(await option.getAttribute('aria-selected')).toBe('true')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/docs\/backups#lost-encryption-key$/)

      await page.keyboard.press('/')
      await page.keyboard.type('no page has a xylophone')
      await page.getByText('No results').waitFor()
      await page.keyboard.press('Escape')
      expect(await page.getByRole('listbox').isVisible()).toBe(false)
    }
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)
