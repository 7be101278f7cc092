import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readDocuments } from '../scripts/build-web.ts'
import { listSearchEntries, renderDocuments } from '../scripts/documents/docs.ts'
import { findMissingPaths } from '../scripts/documents/readme-paths.ts'
import { createApp } from '../src/server/app.ts'
import { testPlatform } from './harness/platform.ts'

const TEMPLATE = '<!doctype html><title>{{title}}</title><nav>{{chapters}}</nav><main>{{content}}</main>'
const SHELL = '<div id="root"></div>'
const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }
const html = (text: string) => new Blob([text], { type: 'text/html;charset=utf-8' })

const documents = await readDocuments()
const pages = renderDocuments(documents, TEMPLATE)

/** Serves the documents of this checkout and a stand-in page for the dashboard on the web port. */
function withDocuments() {
  const files = new Map([['/index.html', html(SHELL)]])
  for (const [name, page] of pages) files.set(`/docs/${name}.html`, html(page))
  const app = createApp(testPlatform().platform, files)
  return async (path: string, init: RequestInit = {}) =>
    app.fetch(new Request(`http://localhost:3000${path}`, init), { api: 'web', address: '203.0.113.7' })
}

test.each([
  '/docs',
  '/docs/',
  ...[...documents.keys()].filter((name) => name !== 'README').map((name) => `/docs/${name.replace('/README', '')}`),
])('GET %s: 200 without a session, with its headings and the list of pages', async (path) => {
  const response = await withDocuments()(path)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toStartWith('text/html')
  expect(response.headers.get('content-security-policy')).toContain(
    "default-src 'none'; script-src 'self'; style-src 'self'",
  )
  const page = await response.text()
  const name = path.replace(/^\/docs\/?/, '')
  const source = documents.get(name || 'README') ?? documents.get(`${name}/README`) ?? ''
  const title = /^# (.+)$/m.exec(source)?.[1] ?? 'none'
  expect(page).toContain(`>${title}</h1>`)
  expect(page.match(/<h2 id="[^"]+"><a href="#/g)?.length ?? 0).toBe(source.match(/^## /gm)?.length ?? 0)
  for (const other of [...documents.keys()].filter((each) => each !== 'README' && !each.includes('/'))) {
    expect(page).toContain(`href="/docs/${other}"`)
  }
  expect(page).not.toContain(SHELL)
  expect(page).not.toMatch(/<script|style="|{{/)
})

test.each(['/docs/nothing', '/docs/README', '/docs/configuration/more', '/docs/Settings', '/docs/configuration.md'])(
  'GET %s: 404 as a page for browsers and as JSON for other clients',
  async (path) => {
    const get = withDocuments()
    const shown = await get(path, BROWSER)
    expect(shown.status).toBe(404)
    const response = await get(path)
    expect([response.status, await response.json()]).toEqual([404, { error: 'Not found' }])
    const page = await shown.text()
    expect(page).not.toContain(SHELL)
  },
)

test('renderDocuments resolves a link to a heading as the repository does', () => {
  const rendered = renderDocuments(
    new Map([
      ['README', '# All\n\n## Use\n\n- [One](one.md)\n- [Two](two.md)\n'],
      [
        'one',
        '# One\n\nSee [there](two.md#44-it-s-here), [all](README.md) and [outside](https://example.com/a?b=1&c=2).\n',
      ],
      ['two', '# Two\n\n## 4.4 It s here\n\n## `code` & more\n\n## 4.4 It s here\n\nBack to [it](#44-it-s-here-1).\n'],
    ]),
    TEMPLATE,
  )
  expect(rendered.get('one')).toContain('<a href="/docs/two#44-it-s-here">there</a>')
  expect(rendered.get('one')).toContain('<a href="/docs">all</a>')
  expect(rendered.get('one')).toContain('<a href="https://example.com/a?b=1&amp;c=2">outside</a>')
  expect(rendered.get('two')).toContain('<h2 id="44-it-s-here"><a href="#44-it-s-here">4.4 It s here</a></h2>')
  expect(rendered.get('two')).toContain(
    '<h2 id="code--more"><a href="#code--more"><code>code</code> &amp; more</a></h2>',
  )
  expect(rendered.get('two')).toContain('<a href="#44-it-s-here-1">it</a>')
})

test.each([
  ['to a missing page', '# One\n\n[x](three.md)'],
  ['to a missing heading', '# One\n\n[x](#two)'],
  ['to a file that is not a page', '# One\n\n[x](../main.tsx)'],
])('renderDocuments throws and names the link when it leads %s', (_, one) => {
  const sources = new Map([
    ['README', '# All\n\n## Use\n\n- [One](one.md)\n'],
    ['one', one],
  ])
  expect(() => renderDocuments(sources, TEMPLATE)).toThrow(/^one\.md: .+ leads nowhere$/)
})

test('renderDocuments throws when no README lists a page', () => {
  const sources = new Map([
    ['README', '# All\n\n## Use\n\n- [One](one.md)\n'],
    ['one', '# One'],
    ['hidden', '# Hidden'],
  ])
  expect(() => renderDocuments(sources, TEMPLATE)).toThrow('README.md lists no hidden.md')
})

test('renderDocuments resolves links and requires a list in a folder of pages', () => {
  const sources = new Map([
    ['README', '# All\n\n## Use\n\n- [Choices](choices/README.md)\n'],
    ['choices/README', '# Choices\n\n- [One](01-one.md)\n'],
    ['choices/01-one', '# One\n\n## Why\n\n[all](../README.md), [choices](README.md), [here](#why)\n'],
  ])
  const rendered = renderDocuments(sources, TEMPLATE)
  expect([...rendered.keys()]).toEqual(['index', 'choices', 'choices/01-one', 'missing'])
  expect(rendered.get('choices')).toContain('<a href="/docs/choices/01-one">One</a>')
  expect(rendered.get('choices/01-one')).toContain('<a href="/docs">all</a>, <a href="/docs/choices">choices</a>')
  sources.set('choices/README', '# Choices\n')
  expect(() => renderDocuments(sources, TEMPLATE)).toThrow('README.md lists no choices/01-one.md')
})

test('listSearchEntries returns one entry per heading with its text and URL', () => {
  const sources = new Map([
    ['README', '# All\n\n- [One](one.md)\n'],
    ['one', '# One\n\nFirst `words`.\n\n## A table\n\n| a | b |\n| --- | --- |\n| c | d |\n'],
  ])
  expect(listSearchEntries(sources)).toEqual([
    { page: 'All', heading: 'All', address: '/docs', text: 'One' },
    { page: 'One', heading: 'One', address: '/docs/one', text: 'First words.' },
    { page: 'One', heading: 'A table', address: '/docs/one#a-table', text: 'a b c d' },
  ])
})

test('every picture of a document exists', () => {
  const pictures = [...documents].flatMap(([name, text]) =>
    [...text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path = '']) => join('web/docs', name, '..', path)),
  )
  expect(pictures.filter((path) => !existsSync(join(import.meta.dir, '..', path)))).toEqual([])
})

test('every path in backticks exists, except those of the worked example', () => {
  const root = join(import.meta.dir, '..')
  const missing = [...documents].flatMap(([name, text]) =>
    findMissingPaths(text, root).map((path) => `${name}: ${path}`),
  )
  expect(missing.filter((path) => !path.startsWith('contributing: src/features/conversations/bookmarks/'))).toEqual([])
})
