import { expect, test } from 'bun:test'
import { until } from '../../harness/until.ts'
import { html, openSite, openSummarizer } from './site.ts'

const PAGE = `<!doctype html>
<html lang="en-GB">
<head>
  <title>  Bread &amp;
    butter &mdash; a caf&eacute;  </title>
  <meta name="Description" content="  How to   bake  ">
  <meta property="og:title" content="Bread">
  <meta property="og:image" content="/loaf.png">
  <meta property="og:site_name" content="The Oven">
  <meta name="twitter:card" content="summary">
  <meta name="author" content="Ada">
  <meta property="og:__proto__" content="polluted">
  <meta property="article:published_time" content="2026-02-03T04:05:06+01:00">
  <link rel="stylesheet canonical" href="/bread">
  <style>h1 { color: red }</style>
</head>
<body>
  <h1>Bread</h1>
  <h2>Flour<br>and water</h2>
  <h2> Flour
      and  water </h2>
  <h3>ab</h3>
  <h3>abc</h3>
  <h4>Not one of these</h4>
  <p>Twenty characters ok</p>
  <p>Twenty one characters</p>
  <p>Twenty  one   characters</p>
  <script>document.write('<p>A paragraph that only a script would write</p>')</script>
  <template><p>A paragraph that nobody ever gets to see</p></template>
  <p>The <b>bold</b> and <a href="#salt">salt</a>y.</p>
  <a href="/one">One</a> <A HREF="/one">One again</A> <a href="two?a=1&amp;b=2">Two</a>
  <a href="mailto:ada@example.com">Mail</a> <a href="javascript:alert(1)">Run</a> <a href="http://[">Broken</a>
  <a href="//other.example/x">${'🍞'.repeat(60)}${'é'.repeat(60)}</a>
  <img src="/loaf.png" alt="A  loaf"> <img src="/loaf.png" alt="again"> <img src="data:image/gif;base64,R0" alt="inline">
  <img alt="none"> <img src="" alt="empty">
</body>
</html>`

test('POST /api/summarize: 200 with the content of the page', async () => {
  const site = openSite({ '/bread.html': html(PAGE) })
  const { summarize, clock } = openSummarizer()
  const url = `${site.url}/bread.html`
  expect(await summarize(url)).toEqual({
    url,
    finalUrl: url,
    title: 'Bread & butter — a café',
    description: 'How to bake',
    headings: ['Bread', 'Flour and water', 'abc'],
    paragraphs: ['Twenty one characters'],
    wordCount: 34,
    lang: 'en-GB',
    canonical: `${site.url}/bread`,
    siteName: 'The Oven',
    publishedAt: '2026-02-03T03:05:06.000Z',
    fetchedAt: clock.now().toISOString(),
  })
  expect(site.requests[0]?.headers.get('user-agent')).toBe('Stead-WebSummarizer/1.0')
  expect(site.requests[0]?.headers.get('cookie')).toBeNull()
})

test('POST /api/extract: 200 with links, images and metadata', async () => {
  const site = openSite({ '/bread.html': html(PAGE) })
  const { extract, clock } = openSummarizer()
  const url = `${site.url}/bread.html`
  expect(await extract(url)).toEqual({
    url,
    finalUrl: url,
    links: [
      { href: `${url}#salt`, text: 'salt' },
      { href: `${site.url}/one`, text: 'One' },
      { href: `${site.url}/two?a=1&b=2`, text: 'Two' },
      { href: 'http://other.example/x', text: '🍞'.repeat(60) + 'é'.repeat(40) },
    ],
    images: [{ src: `${site.url}/loaf.png`, alt: 'A loaf' }],
    meta: {
      description: 'How to   bake',
      'og:title': 'Bread',
      'og:image': '/loaf.png',
      'og:site_name': 'The Oven',
      'og:__proto__': 'polluted',
      'twitter:card': 'summary',
    },
    lang: 'en-GB',
    canonical: `${site.url}/bread`,
    siteName: 'The Oven',
    publishedAt: '2026-02-03T03:05:06.000Z',
    fetchedAt: clock.now().toISOString(),
  })
  expect(Object.getPrototypeOf({})).not.toHaveProperty('polluted')
})

test('POST /api/summarize: 200 with the main content and absolute URLs when the format is markdown', async () => {
  const body = `<h1>Bread</h1>${'<p>Knead the dough for <b>ten minutes</b>, and <a href="/rest">let it rest</a> in a warm place until it has doubled.</p>'.repeat(12)}`
  const site = openSite({
    '/bread': html(`<title>Bread</title><nav><A HREF=/menu>Menu</A></nav><article>${body}</article>`),
    '/empty': html('<title>Nothing</title>'),
  })
  const { summarize } = openSummarizer()
  const { markdown } = await summarize(`${site.url}/bread`, { format: 'markdown' })
  expect(markdown).toContain(`Knead the dough for **ten minutes**, and [let it rest](${site.url}/rest) in a warm place`)
  expect(markdown).not.toContain('Menu')
  expect((await summarize(`${site.url}/empty`, { format: 'markdown' })).markdown).toBeNull()
  expect(await summarize(`${site.url}/bread`)).not.toHaveProperty('markdown')
})

test('POST /api/summarize: 200 with the first 20 headings, 10 paragraphs, 50 links and 20 images', async () => {
  const numbers = Array.from({ length: 80 }, (_, index) => index)
  const many = numbers.map(
    (n) => `<h2>Heading ${n}</h2><p>Paragraph number ${n} is long enough.</p><a href="/l${n}">l</a><img src="/i${n}">`,
  )
  const edges = ['ab', 'abc', '🍞🍞', '🍞🍞🍞', 'x'.repeat(199), 'x'.repeat(200)].map((text) => `<h1>${text}</h1>`)
  const long = [20, 21, 1999, 2000].map((length) => `<p>${'y'.repeat(length)}</p>`)
  const site = openSite({ '/many': html(many.join('')), '/edges': html(edges.join('') + long.join('')) })
  const { summarize, extract } = openSummarizer()

  const summary = await summarize(`${site.url}/many`)
  expect(summary.headings).toEqual(numbers.slice(0, 20).map((n) => `Heading ${n}`))
  expect(summary.paragraphs).toEqual(numbers.slice(0, 10).map((n) => `Paragraph number ${n} is long enough.`))
  const { links, images } = await extract(`${site.url}/many`)
  expect(links).toEqual(numbers.slice(0, 50).map((n) => ({ href: `${site.url}/l${n}`, text: 'l' })))
  expect(images).toEqual(numbers.slice(0, 20).map((n) => ({ src: `${site.url}/i${n}`, alt: '' })))

  const { headings, paragraphs } = await summarize(`${site.url}/edges`)
  expect(headings).toEqual(['abc', '🍞🍞🍞', 'x'.repeat(199)])
  expect(paragraphs).toEqual(['y'.repeat(21), 'y'.repeat(1999)])
})

test('POST /api/summarize: 200 with the first heading as title when the page has none, and for broken and empty pages', async () => {
  const site = openSite({
    '/h1': html('<svg><title>Icon</title></svg><h1> </h1><h1>The heading</h1>'),
    '/og': html('<meta property="og:description" content="From the graph"><title></title><h1>Later</h1>'),
    '/broken': html('<p>Never closed, but it is there<h1>Half <b>open<p>Another paragraph that is not closed'),
    '/empty': html(''),
    '/text': html('just words & no markup'),
  })
  const { summarize } = openSummarizer()
  expect((await summarize(`${site.url}/h1`)).title).toBe('The heading')
  expect(await summarize(`${site.url}/og`)).toMatchObject({ title: 'Later', description: 'From the graph' })
  const broken = await summarize(`${site.url}/broken`)
  expect(broken.paragraphs).toContain('Never closed, but it is there')
  expect(await summarize(`${site.url}/empty`)).toMatchObject({ title: '', headings: [], paragraphs: [], wordCount: 0 })
  expect((await summarize(`${site.url}/text`)).wordCount).toBe(5)
})

test('POST /api/summarize: 200 after redirects, with links relative to the final URL', async () => {
  const site = openSite({
    '/old': (request) => Response.redirect(new URL('/new/page', request.url).href, 301),
    '/new/page': html('<a href="next">n</a>'),
    '/based': html('<base href="/b/"><base href="/c/"><a href="x">x</a>'),
    '/badly-based': html('<base href="javascript:alert(1)"><a href="x">x</a>'),
  })
  const { extract } = openSummarizer()
  const old = await extract(`${site.url}/old`)
  expect(old).toMatchObject({ url: `${site.url}/old`, finalUrl: `${site.url}/new/page` })
  expect(old.links).toEqual([{ href: `${site.url}/new/next`, text: 'n' }])
  expect((await extract(`${site.url}/based`)).links[0]?.href).toBe(`${site.url}/b/x`)
  expect((await extract(`${site.url}/badly-based`)).links[0]?.href).toBe(`${site.url}/x`)
})

/** `日本`, `Ж` and `é` in legacy encodings. */
const JAPANESE_SJIS = [0x93, 0xfa, 0x96, 0x7b]
const JAPANESE_EUC = [0xc6, 0xfc, 0xcb, 0xdc]
const CHINESE_BIG5 = [0xa4, 0xe9, 0xa5, 0xbb]
const CHINESE_GB = [0xc8, 0xd5, 0xb1, 0xbe]
const KOREAN_EUC = [0xc7, 0xd1]
const META = (charset: string) => `<meta http-equiv="Content-Type" content="text/html; charset=${charset}">`

test.each<[string, string, string, (number | string)[]]>([
  ['the header', '日本', 'text/html; charset=Shift_JIS', ['<title>', ...JAPANESE_SJIS]],
  ['a quoted header', '日本', 'text/html;CHARSET="shift_jis"', ['<title>', ...JAPANESE_SJIS]],
  ['a meta element', '日本', 'text/html', ['<meta charset=euc-jp><title>', ...JAPANESE_EUC]],
  ['an old meta element', '日本', 'text/html', [META('big5'), '<title>', ...CHINESE_BIG5]],
  ['gb2312, which means gbk', '日本', 'text/html', [META('gb2312'), '<title>', ...CHINESE_GB]],
  ['ks_c_5601-1987, which means euc-kr', '한', 'text/html', [META('ks_c_5601-1987'), '<title>', ...KOREAN_EUC]],
  ['windows-1251', 'Ж', 'text/html', [META('windows-1251'), '<title>', 0xc6]],
  ['koi8-r', 'Ж', 'text/html; charset=koi8-r', ['<title>', 0xf6]],
  ['iso-8859-1, which means windows-1252', '“é', 'text/html; charset=iso-8859-1', ['<title>', 0x93, 0xe9]],
  ['the header before the meta element', 'é', 'text/html; charset=utf-8', [META('koi8-r'), '<title>', 0xc3, 0xa9]],
  ['a mark before the header', 'é', 'text/html; charset=koi8-r', [0xef, 0xbb, 0xbf, '<title>', 0xc3, 0xa9]],
  ['a UTF-16 mark', 'hé', 'text/html', [0xff, 0xfe, ...[...'<title>hé'].flatMap((c) => [c.charCodeAt(0), 0])]],
  ['an XML declaration', 'Ж', 'application/xhtml+xml', ['<?xml version="1.0" encoding="koi8-r"?><title>', 0xf6]],
  ['nothing, in UTF-8', 'é', 'text/html', ['<title>', 0xc3, 0xa9]],
  ['nothing, and not UTF-8', 'é', 'text/html', ['<title>', 0xe9]],
  ['a label that does not exist', 'é', 'text/html; charset=klingon', ['<title>', 0xc3, 0xa9]],
])('POST /api/summarize: 200 with the encoding by %s', async (_name, title, type, parts) => {
  const bytes = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))
  const site = openSite({ '/': html(Uint8Array.from(bytes), type) })
  const { summarize } = openSummarizer()
  expect((await summarize(`${site.url}/`)).title).toBe(title)
})

const BOTH = ['/api/summarize', '/api/extract']

test.each(BOTH)('POST %s: 400 without a url, 500 when it is invalid', async (path) => {
  const { post, summarizer } = openSummarizer()
  for (const body of [{}, { url: '' }, { url: 7 }, { url: null }, { URL: 'http://x' }]) {
    const response = await post(path, body)
    expect([response.status, await response.json()]).toEqual([400, { error: 'url required' }])
  }
  const empty = await summarizer.request(path, { method: 'POST', headers: { 'content-type': 'application/json' } })
  expect(empty.status).toBe(400)
  for (const url of ['x', 'example.com', 'file:///etc/passwd', 'data:text/html,<p>', 'http://']) {
    const response = await post(path, { url })
    expect([response.status, await response.json()]).toEqual([500, { error: `Could not reach ${url}` }])
  }
})

test.each(BOTH)('POST %s: 500 with the status of the page, for any type', async (path) => {
  const site = openSite({
    '/gone': new Response('gone', { status: 410, headers: { 'content-type': 'text/plain' } }),
    '/busy': new Response('<p>busy', { status: 503, headers: { 'content-type': 'text/html' } }),
    '/not-modified': new Response(null, { status: 304 }),
  })
  const { post } = openSummarizer()
  for (const [page, status] of [
    ['/nowhere', 404],
    ['/gone', 410],
    ['/busy', 503],
    ['/not-modified', 304],
  ]) {
    const url = `${site.url}${page}`
    const response = await post(path, { url })
    expect([response.status, await response.json()]).toEqual([500, { error: `HTTP ${status} fetching ${url}` }])
  }
})

test.each(BOTH)('POST %s: 500 when the response is not a page', async (path) => {
  const site = openSite({
    '/json': Response.json({ a: 1 }),
    '/image': html('', 'image/png'),
    '/none': new Response(new Uint8Array([1, 2, 3])),
    '/like': html('<p>', 'text/htmlx'),
    '/mispacked': new Response('<p>', { headers: { 'content-type': 'text/html', 'content-encoding': 'gzip' } }),
  })
  const { post } = openSummarizer()
  for (const page of ['/json', '/image', '/none', '/like', '/mispacked']) {
    const response = await post(path, { url: `${site.url}${page}` })
    expect([page, response.status]).toEqual([page, 500])
  }
})

test.each(BOTH)(
  'POST %s: 500 without SUMMARIZER_ALLOW_PRIVATE when the page is on this machine, which gets no request',
  async (path) => {
    const site = openSite({ '/': html(PAGE) })
    const { post } = openSummarizer({ SUMMARIZER_ALLOW_PRIVATE: 'false' })
    const port = new URL(site.url).port
    for (const url of [
      `${site.url}/`,
      `http://localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://2130706433:${port}/`,
    ]) {
      const response = await post(path, { url })
      expect([response.status, await response.json()]).toEqual([500, { error: `Could not reach ${url}` }])
    }
    expect(site.requests).toEqual([])
  },
)

test('POST /api/summarize and /api/extract: 429 when one address exceeds RATE_LIMIT_SUMMARIZER over both routes, 200 for others', async () => {
  const { post, api } = openSummarizer({ RATE_LIMIT_SUMMARIZER: '3' })
  const statuses = []
  for (const path of ['/api/summarize', '/api/extract', '/api/summarize', '/api/extract']) {
    statuses.push((await post(path, {})).status)
  }
  expect(statuses).toEqual([400, 400, 400, 429])
  const refused = await post('/api/summarize', {})
  expect(await refused.json()).toEqual({ error: 'Too many requests, please slow down.' })
  const other = api('summarizer', { address: '198.51.100.1' })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  expect((await other.request('/api/summarize', init)).status).toBe(400)
})

test('POST /api/summarize: 503 for the seventeenth concurrent page, 200 when one of sixteen has finished', async () => {
  let waiting = 0
  const gate = Promise.withResolvers<void>()
  const site = openSite({
    '/slow': async () => {
      waiting++
      await gate.promise
      return html('<title>slow')
    },
  })
  const { post } = openSummarizer()
  const all = Array.from({ length: 16 }, () => post('/api/summarize', { url: `${site.url}/slow` }))
  await until('sixteen pending requests', () => waiting === 16)
  const refused = await post('/api/extract', { url: `${site.url}/slow` })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({ error: 'Too many pages at once, please try again.' })
  gate.resolve()
  expect((await Promise.all(all)).map((response) => response.status)).toEqual(Array(16).fill(200))
  expect(waiting).toBe(16)
  expect((await post('/api/extract', { url: `${site.url}/slow` })).status).toBe(200)
})

test('GET /: 200 with the service, its routes and where to pay', async () => {
  const payTo = `0x${'a1'.repeat(20)}`
  const asked = await openSummarizer({ SUMMARIZER_PAY_TO: payTo }).summarizer.request('/')
  expect(await asked.json()).toMatchObject({
    service: 'stead-summarizer',
    description: expect.any(String),
    endpoints: {
      'GET /': expect.any(String),
      'GET /health': expect.any(String),
      'POST /api/summarize': expect.any(String),
      'POST /api/extract': expect.any(String),
    },
    payment: { network: 'base', currency: 'USDC', payTo, note: expect.any(String) },
  })
  const free = await openSummarizer().summarizer.request('/')
  expect(await free.json()).toMatchObject({ payment: { payTo: null, note: 'No payment is asked for.' } })
})
