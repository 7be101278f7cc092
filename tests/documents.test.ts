import { expect, test } from 'bun:test'
import { readDocuments } from '../scripts/build-web.ts'
import { renderDocuments } from '../scripts/docs.ts'
import { createApp } from '../src/server/app.ts'
import { testPlatform } from './harness/platform.ts'

const TEMPLATE = '<!doctype html><title>{{title}}</title><nav>{{chapters}}</nav><main>{{content}}</main>'
const SHELL = '<div id="root"></div>'
const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }
const html = (text: string) => new Blob([text], { type: 'text/html;charset=utf-8' })

const documents = await readDocuments()
const pages = renderDocuments(documents, TEMPLATE)

/** The web face with the documents of this checkout beside the page of the dashboard. */
function withDocuments() {
  const files = new Map([['/index.html', html(SHELL)]])
  for (const [name, page] of pages) files.set(`/docs/${name}.html`, html(page))
  const app = createApp(testPlatform().platform, files)
  return async (path: string, init: RequestInit = {}) =>
    app.fetch(new Request(`http://localhost:3000${path}`, init), { face: 'web', address: '203.0.113.7' })
}

test.each([
  '/docs',
  '/docs/',
  ...[...documents.keys()].filter((name) => name !== 'README').map((name) => `/docs/${name}`),
])(
  'GET %s: 200 without signing in, with its headings and the list of chapters, and not the dashboard',
  async (path) => {
    const response = await withDocuments()(path)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toStartWith('text/html')
    expect(response.headers.get('content-security-policy')).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    )
    const page = await response.text()
    const source = documents.get(path.replace(/^\/docs\/?/, '') || 'README') ?? ''
    const title = /^# (.+)$/m.exec(source)?.[1] ?? 'none'
    expect(page).toContain(`>${title}</h1>`)
    expect(page.match(/<h2 id="[^"]+"><a href="#/g)?.length ?? 0).toBe(source.match(/^## /gm)?.length ?? 0)
    for (const name of documents.keys()) expect(page).toContain(name === 'README' ? '<nav>' : `href="/docs/${name}"`)
    expect(page).not.toContain(SHELL)
    expect(page).not.toMatch(/<script|style="|{{/)
  },
)

test.each(['/docs/nothing', '/docs/README', '/docs/configuration/more', '/docs/Settings', '/docs/configuration.md'])(
  'GET %s: 404, for browsers with the list of chapters, for others in JSON',
  async (path) => {
    const get = withDocuments()
    const shown = await get(path, BROWSER)
    expect(shown.status).toBe(404)
    const told = await get(path)
    expect([told.status, await told.json()]).toEqual([404, { error: 'Not found' }])
    const page = await shown.text()
    expect(page).not.toContain(SHELL)
  },
)

test('a link between chapters leads to the same heading in the repository and on the web', () => {
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
  ['to a chapter that is not there', '# One\n\n[x](three.md)'],
  ['to a heading that is not there', '# One\n\n[x](#two)'],
  ['to a file that is not a chapter', '# One\n\n[x](../main.tsx)'],
])('a link %s stops the build and is named', (_, one) => {
  const sources = new Map([
    ['README', '# All\n\n## Use\n\n- [One](one.md)\n'],
    ['one', one],
  ])
  expect(() => renderDocuments(sources, TEMPLATE)).toThrow(/^one\.md: .+ leads nowhere$/)
})

test('a chapter that nobody would find stops the build', () => {
  const sources = new Map([
    ['README', '# All\n\n## Use\n\n- [One](one.md)\n'],
    ['one', '# One'],
    ['hidden', '# Hidden'],
  ])
  expect(() => renderDocuments(sources, TEMPLATE)).toThrow('README.md lists no hidden.md')
})
