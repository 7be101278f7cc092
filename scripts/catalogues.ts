/**
 * `bun run catalogues`: writes `web/docs/errors.md` and `web/docs/webhooks.md` from the error codes and event schemas. With
 * `--check` it writes nothing and fails when a file would change.
 */
import { join } from 'node:path'
import { z } from 'zod'
import type { ErrorKind } from '../src/core/errors.ts'
import { NoticeEvent, WatchdogEvent } from '../src/features/accounts/notifications/schemas.ts'
import { CODE_GROUPS, DOCUMENTED_KINDS } from '../src/http/error-codes/catalogue.ts'
import { statusOf } from '../src/http/errors.ts'
import { toType } from './documents/api-chapter.ts'

const INTRODUCTION = `# Errors

\`\`\`json
{ "error": "Agent limit reached", "code": "AGENT_LIMIT_REACHED", "current": 1, "limit": 1 }
\`\`\`

\`error\` is a message for people and can change. \`code\` is stable and present where the status alone is not sufficient; some errors have additional fields. On \`/v1\` errors have the format of OpenAI, \`{ "error": { "message", "type", "code" } }\`, and agents receive plan problems as 429 instead of 402.

Every response has the header \`X-Request-Id\`, which the operator finds in the log. The [HTTP API](http-api.md) lists the statuses of each endpoint.
`

/** Writes the page of errors: a table of statuses, and one of codes for each topic. */
export function writeErrorChapter(): string {
  const kinds = Object.entries(DOCUMENTED_KINDS) as [ErrorKind, (typeof DOCUMENTED_KINDS)[ErrorKind]][]
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

Stead sends events as signed POST requests with a JSON body, as defined by [Standard Webhooks](https://www.standardwebhooks.com). Verify them with a library for your language:

\`\`\`ts
import { Webhook } from 'standardwebhooks'

const event = new Webhook(secret).verify(body, headers) // throws if the signature is not valid
\`\`\`

Headers are \`webhook-id\`, \`webhook-timestamp\` and \`webhook-signature\`; secrets start with \`whsec_\`. A retried event has the same \`webhook-id\`. Every body has \`version\`, \`type\`, \`timestamp\` (ISO 8601) and \`data\`. Fields may be added; \`version\` changes with incompatible changes.

Stead also receives webhooks: Stripe at \`POST /api/webhooks/stripe\`, video at \`POST /api/webhooks/video\`, mail at \`POST /api/webhooks/email\`, and security events of identity providers at \`POST /api/security/risc\`. [Channels](channels.md#webhooks) describes webhooks between programs and agents.
`

/** The events by receiver, with their schemas. */
const EVENTS = [
  {
    title: 'Events for owners',
    intro:
      'Create a channel of the kind `webhook` under **Settings > Notifications**, or with `POST /api/notices/channels`. The secret is shown once.',
    schema: NoticeEvent,
  },
  {
    title: 'Events for the operator',
    intro:
      'Set `WATCHDOG_WEBHOOK_URL` ([Configuration](configuration.md#watchdog)) to receive the events of the watchdog.',
    schema: WatchdogEvent,
  },
]

/** Writes the page of webhooks: the types of events and of their bodies. */
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

/** Expands a template of a word and an enum, such as `notice.down`. */
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
