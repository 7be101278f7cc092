import { expect, test } from 'bun:test'
import { renderToStaticMarkup } from 'react-dom/server'
import { toAgentHeaders } from '../../../src/adapters/gateways/proxy.ts'
import { toTokenText } from '../../../src/adapters/models/token-text.ts'
import { toHttpUrl } from '../../../src/adapters/pages/read.ts'
import { splitText } from '../../../src/agent/channels/reply.ts'
import { toFactText, toKey } from '../../../src/agent/state/memory.ts'
import { newSlug } from '../../../src/core/ids.ts'
import { JsonObjectText } from '../../../src/core/json/bounded-json.ts'
import { listTopLevelKeys } from '../../../src/core/json/json-keys.ts'
import { redact } from '../../../src/core/log.ts'
import { parseMicroUsd } from '../../../src/core/money.ts'
import { toRequestId } from '../../../src/core/request-id.ts'
import { toVisible } from '../../../src/core/text/lines.ts'
import { findNearName, ImageReference, webUrl } from '../../../src/core/text/names.ts'
import { trimAround, trimTrailing } from '../../../src/core/text/trim.ts'
import { withoutUserinfo } from '../../../src/core/text/url-userinfo.ts'
import { readNonce } from '../../../src/features/accounts/sign-in/wallet.ts'
import { createLineCleaner } from '../../../src/features/agents/logs/follow.ts'
import { toSessionTitle } from '../../../src/features/conversations/chat/sessions.ts'
import {
  describeAutomatic,
  findAuthentication,
  readDmarc,
  readThread,
} from '../../../src/features/conversations/inbox/headers.ts'
import { readMail } from '../../../src/features/conversations/inbox/receive.ts'
import { parseSkillText } from '../../../src/features/payments/skills/skill-text.ts'
import { addressKey, clientAddress, parseRanges } from '../../../src/http/address.ts'
import { createHostRule } from '../../../src/http/hosts.ts'
import { readBearer } from '../../../src/http/internal-key.ts'
import { isPage } from '../../../src/server/pages.ts'
import { findWorkspace } from '../../../web/agent-memory/workspace-files.ts'
import { closeInline, splitBlocks } from '../../../web/chat/markdown/blocks.ts'
import { ReplyText } from '../../../web/chat/reply-text.tsx'
import { splitAtMatches, toStoredRow } from '../../../web/logs/log-lines.ts'
import { toPlainExcerpt } from '../../../web/overview/plain-excerpt.ts'
import { testPlatform } from '../../harness/platform.ts'

const SIZE = 100_000
/** A quadratic parser takes over ten seconds, a linear one milliseconds, even on a shared CPU. */
const MAX_MS = 1000
const ATTEMPTS = 3

/** One character of each class a parser distinguishes, and prefixes parsers search for. */
const UNITS = [
  ...'aZ0 \t\n\r\v\f\0"\'`\\/|()[]{}<>.,;:!?-_=+*&^%$#@~',
  'é',
  '漢',
  '😀',
  '\ud800',
  '\u200b',
  '\u2028',
  '\u00a0',
  'ſ',
  'a ',
  ' a',
  ' \n',
  '\n ',
  '\r\n',
  'a.',
  'a@',
  'a,',
  'a-',
  'a=',
  ';q',
  '\\"',
  '"\\',
  '((',
  '()',
  '(\\',
  '<a',
  '<a ',
  '<!--',
  '[](',
  '![',
  '](',
  '**',
  '```\n',
  '\n```  ',
  '~~~',
  '://',
  'a://',
  'a://@',
  'Bearer ',
  'sk_',
  '\\u001b[',
  '${env:',
  '?a&',
  '%20',
  'memory/',
  'dmarc=',
  'Nonce: ',
  '> ',
  '1. ',
  '<@a',
]
const TEXTS = UNITS.flatMap((unit) => {
  const run = unit.repeat(Math.ceil(SIZE / unit.length))
  return [run, `x${run}x`, `"${run}`, `(${run}`, `${run}\u2028`, `${run}\n\0`]
})

const judgeHost = createHostRule({ names: ['stead.example.com'], agentsDomain: 'agents.example.com' })
const cleanLine = createLineCleaner(['a secret of the agent', 'aaaaaaaa'])
const trusted = parseRanges(['127.0.0.0/8'])
const anyUrl = webUrl('must be a URL')

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  addressKey,
  clientAddress: (text) => clientAddress('127.0.0.1', text, trusted),
  closeInline,
  describeAutomatic: (text) =>
    describeAutomatic(
      [
        ['auto-submitted', text],
        ['precedence', text],
        ['content-type', text],
      ],
      `${text}@example.com`,
    ),
  findAuthentication: (text) => findAuthentication([['authentication-results', text]], 'mx.example.com'),
  findNearName: (text) => findNearName(text, ['DATA_DIR', 'WEB_PORT']),
  findWorkspace: (text) => findWorkspace([{ path: text, size: 1 }]),
  ImageReference: (text) => ImageReference.safeParse(text),
  isPage,
  JsonObjectText: (text) => JsonObjectText.safeParse(text),
  judgeHost,
  listTopLevelKeys: (text) => listTopLevelKeys(JSON.stringify({ a: text, b: 1 })),
  cleanLine,
  newSlug,
  parseMicroUsd,
  parseSkillText: (text) => parseSkillText(`---\nname: a\n---\n${text}`),
  readBearer: (text) => readBearer(`Bearer ${text}`),
  readDmarc,
  readMail: (text) =>
    readMail({
      headers: [['references', text]],
      messageId: text,
      from: text,
      to: text,
      subject: text,
      authentication: text,
    }),
  readNonce,
  readThread: (text) =>
    readThread(
      [
        ['references', text],
        ['message-id', text],
      ],
      null,
    ),
  redact,
  ReplyText: (text) => renderToStaticMarkup(ReplyText({ text })),
  splitAtMatches: (text) => splitAtMatches(text, 'level'),
  splitBlocks,
  splitText: (text) => splitText(text, 4000),
  toAgentHeaders: (text) => toAgentHeaders(new Headers({ cookie: text, connection: text }), null),
  toFactText,
  toHttpUrl: (text) => toHttpUrl(text, 'https://example.com'),
  toKey,
  toPlainExcerpt,
  toRequestId,
  toStoredRow: (text) => toStoredRow({ id: 1, at: '2026-11-20T12:00:00Z', stream: 'stdout', text }),
  toSessionTitle,
  toTokenText: (text) => toTokenText(JSON.stringify({ messages: [{ role: 'user', content: text }] })),
  toVisible,
  trimAround: (text) => trimAround(text, '/'),
  trimTrailing: (text) => trimTrailing(text, '/'),
  webUrl: (text) => anyUrl.safeParse(text),
  withoutUserinfo,
}

test.each(Object.entries(PARSERS))('%s takes linear time on 100 KB of every class of characters', (_name, parse) => {
  const slow = TEXTS.flatMap((text) => {
    const ms = leastMs(() => parse(text))
    return ms > MAX_MS ? [`${JSON.stringify(text.slice(0, 20))}: ${Math.round(ms)} ms`] : []
  })
  expect(slow).toEqual([])
})

test('GET /: takes linear time for any Accept-Encoding and any path', async () => {
  const { app } = testPlatform()
  const slow: string[] = []
  for (const unit of UNITS.filter((each) => /^[\x21-\x7e ]+$/.test(each))) {
    const run = unit.repeat(Math.ceil(SIZE / unit.length))
    const startedAt = performance.now()
    await app.fetch(new Request('http://localhost/', { headers: { 'accept-encoding': `x${run}x` } }), {
      api: 'web',
      address: '127.0.0.1',
    })
    await app.fetch(new Request(`http://localhost/docs/${encodeURI(run)}`), { api: 'web', address: '127.0.0.1' })
    const ms = performance.now() - startedAt
    if (ms > 2 * MAX_MS) slow.push(`${unit}: ${Math.round(ms)} ms`)
  }
  expect(slow).toEqual([])
})

/** Returns the shortest of a few durations, because other processes may delay each. */
function leastMs(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < ATTEMPTS && least > MAX_MS; count++) {
    const startedAt = performance.now()
    attempt(work)
    least = Math.min(least, performance.now() - startedAt)
  }
  return least
}

/** Runs `work` and ignores errors: rejecting the input is fine. */
function attempt(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
