/**
 * `bun run catalogues`: writes `web/docs/errors.md` and `web/docs/webhooks.md` from the catalogue of errors and the schemas of
 * events; `--check` only says whether they are up to date.
 */
import { join } from 'node:path'
import { z } from 'zod'
import type { ErrorKind } from '../src/core/errors.ts'
import { NoticeEvent } from '../src/features/accounts/notices/schemas.ts'
import { WatchdogEvent } from '../src/features/accounts/notifications/schemas.ts'
import { CODE_GROUPS, KINDS } from '../src/http/error-codes/catalogue.ts'
import { statusOf } from '../src/http/errors.ts'
import { toType } from './api-chapter.ts'

const INTRODUCTION = `# Errors

An error has a status of the table below and a body \`{ "error": "what is wrong", "code": "WHICH" }\`. \`error\` is for people and may change; \`code\` is for programs, stays, and stands there where a status alone does not say what to do. Some errors have more fields, such as \`current\` and \`limit\`. On \`/v1\` of the backend errors have the form of OpenAI instead: \`{ "error": { "message", "type", "code" } }\`, and an agent is told what its plan lacks as 429, because agents stop asking after a 402. Every answer has the header \`X-Request-Id\`, by which the operator finds it in the log.

What an agent may not see does not exist for it: a stranger's agent, key or file is a 404. The [API reference](/docs/api) says which statuses a route has.
`

/** The chapter in CommonMark: a table of statuses, and one of codes for each group. */
export function writeErrorChapter(): string {
  const kinds = Object.entries(KINDS) as [ErrorKind, (typeof KINDS)[ErrorKind]][]
  const statuses = kinds
    .map(([kind, { means, remedy }]) => ({
      status: statusOf(kind),
      line: `| ${statusOf(kind)} | ${kind.replaceAll('_', ' ')} | ${means} | ${remedy} |`,
    }))
    .sort((one, other) => one.status - other.status)
  const groups = Object.entries(CODE_GROUPS).map(([title, codes]) => {
    const rows = Object.entries(codes)
      .sort(([one], [other]) => one.localeCompare(other))
      .map(
        ([code, { kinds: of, means, remedy }]) =>
          `| \`${code}\` | ${of.map(statusOf).join(', ')} | ${means} | ${remedy} |`,
      )
    return [
      `## ${title}`,
      '',
      '| Code | Status | Meaning | What to do |',
      '| --- | --- | --- | --- |',
      ...rows,
      '',
    ].join('\n')
  })
  return [
    INTRODUCTION,
    [
      '## Statuses',
      '',
      '| Status | Kind | Meaning | What to do |',
      '| --- | --- | --- | --- |',
      ...statuses.map(({ line }) => line),
      '',
    ].join('\n'),
    ...groups,
  ].join('\n')
}

const WEBHOOKS = `# Webhooks

Events leave Stead as signed POST requests with a JSON body, in the form of [Standard Webhooks](https://www.standardwebhooks.com): the headers \`webhook-id\`, \`webhook-timestamp\` and \`webhook-signature\`, made with the secret that begins with \`whsec_\`. A library of that name in your language verifies them. An event that is sent again has the same \`webhook-id\`. Everything has \`version\`, \`type\`, \`timestamp\` (ISO 8601) and \`data\`; fields may be added, and \`version\` changes with what would break a reader.

Events come in as well: those of the card service at \`POST /api/webhooks/stripe\`, of the video service at \`POST /api/webhooks/video\`, mail at \`POST /api/webhooks/email\`, and security events of an identity provider at \`POST /api/security/risc\`. Their bodies are defined by who sends them.
`

/** What leaves by webhook, to whom, and its schema. */
const EVENTS = [
  {
    title: 'To owners',
    intro:
      'A channel of the kind `webhook` under the notices of an account (`POST /api/notices/channels`) is sent what its owner is told. Its secret is shown once, when the channel is made.',
    schema: NoticeEvent,
  },
  {
    title: 'To the operator',
    intro: 'The address of `WATCHDOG_WEBHOOK_URL` ([settings](configuration.md)) is sent what the watchdog sees.',
    schema: WatchdogEvent,
  },
]

/** The chapter in CommonMark: the kinds of events, and the type of their bodies. */
export function writeWebhookChapter(): string {
  const parts = EVENTS.map(({ title, intro, schema }) => {
    const kinds = listTypes(schema.shape.type).map((type) => `- \`${type}\``)
    const fields = Object.entries(schema.shape.data.shape).map(
      ([name, field]) => `  ${name}: ${toType(z.toJSONSchema(field))}`,
    )
    return [`## ${title}`, intro, kinds.join('\n'), ['```', 'data {', ...fields, '}', '```'].join('\n')].join('\n\n')
  })
  return `${[WEBHOOKS.trimEnd(), ...parts].join('\n\n')}\n`
}

/** `notice.down`, `notice.recovered` and so on, of a template of a word and an enum. */
function listTypes({ def: { parts } }: z.ZodTemplateLiteral): string[] {
  const [word, kind] = parts
  return kind instanceof z.ZodEnum ? kind.options.map((option) => `${word}${option}`) : []
}

if (import.meta.main) {
  const chapters = { errors: writeErrorChapter(), webhooks: writeWebhookChapter() }
  for (const [name, actual] of Object.entries(chapters)) {
    const file = Bun.file(join(import.meta.dir, `../web/docs/${name}.md`))
    if (!process.argv.includes('--check')) await file.write(actual)
    else if ((await file.text().catch(() => '')) !== actual) {
      console.error(`web/docs/${name}.md is out of date: run \`bun run catalogues\`.`)
      process.exitCode = 1
    }
  }
}
