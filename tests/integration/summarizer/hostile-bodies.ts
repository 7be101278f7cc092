import type { ServerResponse } from 'node:http'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** A response crafted to exhaust its reader. */
export type Hostile = { name: string; send: (response: ServerResponse) => void }

const MEGABYTE = 1024 * 1024
/** Slightly less than the maximum that is read. */
const MAX = 2 * MEGABYTE - 1000

/** Repeats `piece` up to `size` bytes. */
const fill = (piece: string, size: number = MAX) => piece.repeat(Math.floor(size / Buffer.byteLength(piece)))

const page =
  (body: string | Buffer, headers: Record<string, string> = {}): Hostile['send'] =>
  (response) =>
    response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(body)

const NESTED = [
  'div',
  'b',
  'span',
  'table',
  'ul',
  'font',
  'blockquote',
  'section',
  'svg',
  'template',
  'select',
  'form',
  'button',
  'noscript',
  'a href=x',
  'h1',
  'p',
  'li',
  'td',
  'object',
]
const NEVER_CLOSED = [
  '<!--',
  '<script>',
  '<style>',
  '<title>',
  '<textarea>',
  '<![CDATA[',
  '<!DOCTYPE ',
  '<?xml ',
  '<a href="',
  "<img alt='",
  '<p ',
  '<',
  '</',
  '&',
  '&#',
  '<svg><![CDATA[',
  '<plaintext>',
  '<xmp>',
  '<iframe>',
  '<noframes>',
]
const FLOODS = [
  '<',
  '>',
  '<>',
  '</>',
  '<!---->',
  '<!-- -->',
  '<!',
  '<?',
  '&amp;',
  '&#x10FFFF;',
  '&lt',
  '</div>',
  '</p>',
  '<p>',
  '<br>',
  '<li>a',
  '<h1>a</h1>',
  '<p>a paragraph of some length</p>',
  '<a href=x>y</a>',
  '<a href=//x/?a=%>y</a>',
  '<img src=x>',
  '<meta name=og:a content=b>',
  '<base href=/x/>',
  '<title>t</title>',
  '<link rel=canonical href=x>',
  '<b><p>',
  '<a><table>',
  '<table><tr><td>',
  '<i></b>',
  '<option>',
  '<script></script>',
  '<svg><title>',
  '<p x>',
  '<p a=1 b=2 c=3>',
  ' ',
  '\n',
  '\0',
  '\u00a0',
  'a ',
  'word',
  '𝒳',
  '\u202e',
  '\ud7ff\ue000',
]
const ATTRIBUTES = [
  `<p ${Array.from({ length: 250_000 }, (_, index) => `a${index}`).join(' ')}>`,
  `<p ${Array.from({ length: 120_000 }, (_, index) => `a${index}="${index}"`).join(' ')}>`,
  `<a href="${'x'.repeat(MAX - 20)}">y</a>`,
  `<a href="http://x/${'../'.repeat(600_000)}">y</a>`,
  `<img src="data:image/png;base64,${'A'.repeat(MAX - 60)}">`,
  `<p class="${fill('a ', MAX - 60)}">x</p>`,
  `<p style="${fill('a:b;', MAX - 60)}">x</p>`,
  `<html lang="${'e'.repeat(MAX - 60)}">`,
  `<meta name="description" content="${fill('d ', MAX - 60)}">`,
  `<meta property="${fill('og:a ', MAX - 60)}" content=x>`,
  `<script type="application/ld+json">${fill('{"datePublished":"', MAX - 100)}</script>`,
  `<base href="${'x'.repeat(MAX - 60)}"><a href=y>z</a>`,
  '<p __proto__=x constructor=y prototype=z><meta name="og:__proto__" content=x>',
  `<h1>${fill('<b>x</b> ', MAX - 60)}</h1>`,
  `<p>${fill('x '.repeat(50), MAX - 60)}</p>`,
  `<a href=x>${fill('<i>', MAX - 60)}`,
]

const bombs = (): Hostile[] => {
  const zeros = Buffer.alloc(64 * MEGABYTE)
  const tags = Buffer.from(fill('<b>', 32 * MEGABYTE))
  const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
  const packed = [zeros, tags].flatMap((body) => [
    ['gzip', gzipSync(body)],
    ['br', brotliCompressSync(body, quick)],
    ['zstd', Bun.zstdCompressSync(body)],
    ['gzip, gzip', gzipSync(gzipSync(body))],
  ]) satisfies [string, Buffer][][number][]
  const cut = gzipSync('<p>'.repeat(100_000)).subarray(0, 200)
  return [
    ...packed.map(([coding, body], index) => ({
      name: `bomb ${index} ${coding}`,
      send: page(body, { 'content-encoding': String(coding) }),
    })),
    { name: 'cut gzip', send: page(cut, { 'content-encoding': 'gzip' }) },
    { name: 'no gzip', send: page('<p>', { 'content-encoding': 'gzip' }) },
    { name: 'unknown coding', send: page('<p>', { 'content-encoding': 'compress' }) },
  ]
}

const wires: Hostile[] = [
  { name: 'endless', send: (response) => stream(response, Buffer.alloc(65_536, '<p>')) },
  { name: 'endless zeros', send: (response) => stream(response, Buffer.alloc(65_536)) },
  { name: 'endless tiny chunks', send: (response) => stream(response, Buffer.from('<')) },
  { name: 'cut', send: (response) => cutOff(response) },
  {
    name: 'huge head',
    send: (response) => response.writeHead(200, { 'content-type': 'text/html', 'x-a': 'a'.repeat(200_000) }).end('x'),
  },
  { name: 'wrong type', send: page('<p>', { 'content-type': 'application/octet-stream' }) },
  { name: 'no type', send: (response) => response.writeHead(200).end('<p>') },
  { name: 'odd charset', send: page('<p>', { 'content-type': `text/html; charset=${'x'.repeat(8000)}` }) },
  { name: 'utf-7', send: page('+ADw-p+AD4-', { 'content-type': 'text/html; charset=utf-7' }) },
  { name: 'utf-16 of bytes', send: page(Buffer.alloc(MAX, '<p>'), { 'content-type': 'text/html; charset=utf-16le' }) },
  {
    name: 'iso-2022-jp',
    send: page(Buffer.alloc(MAX, '\x1b$B<p>'), { 'content-type': 'text/html; charset=iso-2022-jp' }),
  },
  { name: 'loop', send: (response) => response.writeHead(302, { location: response.req.url }).end() },
  { name: 'to a file', send: (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end() },
  { name: 'to metadata', send: (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end() },
  { name: 'status 999', send: (response) => response.writeHead(999, { 'content-type': 'text/html' }).end('<p>') },
]

/**
 * Returns exactly `count` bodies: each kind, then some in smaller sizes, then random mixtures, the same in every run.
 */
export function hostileBodies(count: number): Hostile[] {
  const named = [
    ...NESTED.map((tag) => nested(tag, 200_000)),
    ...NEVER_CLOSED.flatMap((start) => [
      { name: `never closed ${start}`, send: page(start + fill('x ', MAX - 100)) },
      { name: `again and again ${start}`, send: page(fill(start)) },
    ]),
    ...FLOODS.map((piece) => ({ name: `flood of ${JSON.stringify(piece)}`, send: page(fill(piece)) })),
    ...ATTRIBUTES.map((body) => ({ name: body.slice(0, 30), send: page(body) })),
    ...bombs(),
    ...wires,
    // Smaller sizes.
    ...NESTED.flatMap((tag) => [1000, 20_000].map((size) => nested(tag, size))),
    ...FLOODS.map((piece) => ({
      name: `some ${JSON.stringify(piece)}`,
      send: page(`<html><body>${fill(piece, 100_000)}`),
    })),
  ]
  const random = createRandom(7)
  while (named.length < count) named.push({ name: `mixture ${named.length}`, send: page(mixture(random)) })
  return named.slice(0, count)
}

function nested(tag: string, size: number): Hostile {
  return { name: `${size} nested ${tag}`, send: page(fill(`<${tag}>`, size * 6)) }
}

function mixture(random: (below: number) => number): Buffer {
  const pieces = [
    ...FLOODS,
    ...NEVER_CLOSED,
    ...NESTED.map((tag) => `<${tag}>`),
    '"',
    "'",
    '=',
    '/>',
    'text',
    '-->',
    ']]>',
    '</script>',
  ]
  const parts = Array.from({ length: 200 + random(3000) }, () => pieces[random(pieces.length)] ?? '')
  const body = Buffer.from(parts.join(''))
  for (let hit = random(20); hit > 0; hit--) body[random(body.length)] = random(256)
  return body
}

/** Returns a pseudorandom generator (mulberry32), so that every run has the same bodies. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

function stream(response: ServerResponse, chunk: Buffer): void {
  response.writeHead(200, { 'content-type': 'text/html' })
  const pump = () => {
    for (let burst = 0; burst < 100; burst++) {
      if (response.destroyed) return
      if (!response.write(chunk)) return void response.once('drain', pump)
    }
    setImmediate(pump)
  }
  pump()
}

function cutOff(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html', 'content-length': '1000000' })
  response.write('<p>half', () => response.destroy())
}
