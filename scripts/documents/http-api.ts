import { API_TAGS } from '../../src/http/api-tags.ts'
import { statusOf } from '../../src/http/errors.ts'
import { requiredScopeOf, securityOf } from '../../src/server/api-document/document.ts'
import type { DeclaredRoute } from '../../src/server/api-document/routes.ts'

const INTRODUCTION = `# HTTP API

\`\`\`sh
curl http://localhost:3000/api/agents -H "Authorization: Bearer $STEAD_KEY"
\`\`\`

This page lists every endpoint. The [API reference](/docs/api) adds the types of requests and responses, and \`GET /openapi.json\` on each port returns them as OpenAPI 3.1.

## Base URLs

| API | Default address | For |
| --- | --- | --- |
| web | \`http://localhost:3000\` | the dashboard and programs of users |
| backend | \`http://localhost:3001\` | services of the operator (\`/api\`), agents and OpenAI clients (\`/v1\`) |
| summarizer | \`http://localhost:3100\` | turning web pages into data |

An agent has its own address, \`<id>.<AGENTS_DOMAIN>\` on the web port, protected by its gateway token.

## Authentication

| Method | How | Accepted by |
| --- | --- | --- |
| session | the cookie \`service-session\`, set by \`POST /api/auth/login\`; valid for 30 days | web |
| API key | \`Authorization: Bearer sk_…\`, see [API keys](models.md#api-keys) | web, \`/v1\` |
| agent token | \`Authorization: Bearer …\`, the platform token of an agent | \`/v1\` |
| internal key | \`Authorization: Bearer <INTERNAL_API_KEY>\`; with \`x-user-id\` it acts for that user | backend |

The column *Scope* is the scope that a restricted API key needs: \`any\` accepts every key, *unrestricted* only a key without scopes. OpenAPI has it as \`x-required-scope\`.

Browsers on another origin need a token from \`GET /api/auth/csrf\` in the header \`x-csrf-token\` for requests that change data.

## Requests

Bodies are JSON with \`Content-Type: application/json\`, UTF-8, at most 1 MB and 64 levels deep. \`POST /v1/chat/completions\` and \`POST /v1/responses\` accept 8 MB. Unknown fields are ignored, except in the \`config\` of an agent, where they return 400.

## Errors

\`\`\`json
{ "error": "Agent limit reached", "code": "AGENT_LIMIT_REACHED", "current": 1, "limit": 1 }
\`\`\`

\`error\` is a message for people and can change. \`code\` is stable; [Errors](errors.md) lists all codes. On \`/v1\` errors have the format of OpenAI: \`{ "error": { "message", "type", "code" } }\`. Every response has an \`x-request-id\` that the operator finds in the log.

The column *Errors* lists the statuses of an endpoint in addition to these:

| Status | When |
| --- | --- |
| 400, 408, 413 | the request body is invalid, too slow or too large |
| 401, 403 | the authentication is missing, wrong or not sufficient |
| 404 | the object does not exist or belongs to another user |
| 429 | too many requests |
| 500 | unexpected failure, or the operator has not set \`INTERNAL_API_KEY\` |
| 503 | the server is overloaded or shutting down |
| 507 | the storage of the account or the disk is full |

## Pagination

Lists that can be long take \`limit\` and one of \`before\`, \`after\` or \`offset\`. A response contains the value for the next page (\`next\`, \`nextBefore\`) or \`hasMore\`.

## Idempotency

Send \`Idempotency-Key\` with requests that create agents or move money, and with chat messages. Repeating a request with the same key and body returns the first response; another body returns 409 \`IDEMPOTENCY_MISMATCH\`.

## Rate limits

Limited routes return \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds). A 429 has \`Retry-After\`. [Settings](configuration.md#rate-limits) change the limits.

## Streams

\`POST /v1/chat/completions\` streams with \`"stream": true\`, as OpenAI does. Conversations, logs and status use server-sent events. The stream of a conversation turn can be joined again with \`Last-Event-ID\`.
`

const SCHEMES: Readonly<Record<string, string>> = {
  session: 'session',
  apiKey: 'API key',
  internalKey: 'internal key',
  agentToken: 'agent token',
  metricsToken: '`METRICS_TOKEN`',
}

/** Writes the page of the HTTP API: the introduction, then a table of endpoints for each tag. */
export function writeHttpApi(routes: readonly DeclaredRoute[]): string {
  const byTag = Map.groupBy(
    routes.filter(({ endpoint }) => endpoint !== undefined),
    ({ endpoint }) => endpoint?.tag,
  )
  const sections = Object.values(API_TAGS).flatMap((tags) =>
    Object.entries(tags).flatMap(([tag, description]) => {
      const own = [...byTag].find(([name]) => name === tag)?.[1] ?? []
      return own.length === 0 ? [] : [writeSection(tag, description, own)]
    }),
  )
  return [INTRODUCTION, ...sections].join('\n')
}

function writeSection(tag: string, description: string, routes: readonly DeclaredRoute[]): string {
  const byEndpoint = Map.groupBy(routes, ({ method, path }) => `${path} ${method}`)
  const rows = [...byEndpoint].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, same]) => writeRow(same))
  return [
    `## ${tag}`,
    '',
    description,
    '',
    '| Endpoint | Description | API | Authentication | Scope | Errors |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}

/** Writes one row for an endpoint, which several APIs may serve. */
function writeRow(routes: readonly DeclaredRoute[]): string {
  const schemes = routes.map((route) => [...new Set(securityOf(route).flatMap((scheme) => Object.keys(scheme)))])
  const authentication = schemes.flatMap((names) => (names.length === 0 ? ['none'] : names.map(toWords)))
  const scopes = routes.flatMap((route) => {
    const scope = requiredScopeOf(route)
    return scope === null ? [] : [scope === 'unrestricted' ? scope : `\`${scope}\``]
  })
  const statuses = routes
    .flatMap(({ endpoint }) => (endpoint?.errors ?? []).map(statusOf))
    .sort((one, other) => one - other)
  const { method = '', path = '', endpoint } = routes[0] ?? {}
  const cells = [
    `\`${method} ${path}\``,
    endpoint?.summary ?? '',
    ...[routes.map(({ api }) => api), authentication, scopes, statuses].map((values) => listOnce(values)),
  ]
  return `| ${cells.join(' | ')} |`
}

function listOnce(values: readonly (string | number)[]): string {
  return [...new Set(values)].join(', ') || '–'
}

function toWords(scheme: string): string {
  return SCHEMES[scheme] ?? scheme
}
