import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { PAGES } from '../src/server/pages.ts'

/** Imported at run time, because it depends on browser types, which are checked separately. */
const ROUTES = join(import.meta.dir, '..', 'web/routes.tsx')

test('the server knows the pages of the dashboard', async () => {
  const { createPages } = await import(ROUTES)
  const known: string[] = [...PAGES].sort()
  expect(known).toEqual(Object.keys(createPages().routesByPath).sort())
})
