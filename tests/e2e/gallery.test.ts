import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serveGallery } from '../../scripts/build/gallery.ts'
import { hasBrowser, openBrowser, resizePage } from '../harness/browser.ts'
import { listViolations } from '../harness/browsers/axe.ts'
import { until } from '../harness/until.ts'

/** A guard against waiting for ever, nothing else. */
const LIMIT_MS = 600_000
const WEB = join(import.meta.dir, '../../web')
/** Frames around queries, and what is made of parts that are shown. */
const UNSEEN = new Set(['code-field', 'loaded', 'modal', 'patience', 'slow-answer'])

test('every part of the dashboard is in the gallery', () => {
  const gallery = readFileSync(join(WEB, 'gallery/gallery.tsx'), 'utf8')
  const parts = [...new Bun.Glob('*.tsx').scanSync(join(WEB, 'ui'))].map((file) => file.replace('.tsx', ''))
  expect(parts.length).toBeGreaterThan(10)
  const missing = parts.filter((part) => !UNSEEN.has(part) && !gallery.includes(`'../ui/${part}.tsx'`))
  expect(missing).toEqual([])
})

test.skipIf(!hasBrowser())(
  'the component gallery passes axe-core in light and dark on phone and desktop, and switches themes',
  async () => {
    using gallery = await serveGallery()
    await using browser = await openBrowser(gallery.url)
    const { page, complaints } = browser
    await page.emulateMedia({ reducedMotion: 'reduce' })
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [360, 1440]) {
        await page.emulateMedia({ colorScheme })
        await resizePage(page, { width, height: 900 })
        await page.goto(gallery.url)
        await page.getByRole('heading', { name: 'Parts', level: 1 }).waitFor()
        expect({ colorScheme, width, found: await listViolations(page) }).toEqual({ colorScheme, width, found: [] })
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      }
    }
    await page.getByRole('button', { name: 'Confirm…' }).click()
    await page.getByRole('alertdialog', { name: 'Delete Lovelace?' }).getByRole('button', { name: 'Cancel' }).click()
    const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const dark = await ground()
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('menuitemradio', { name: 'Light' }).click()
    await until('the ground of the other theme', async () => (await ground()) !== dark)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)
