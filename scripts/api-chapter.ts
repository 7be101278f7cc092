import type { ApiDocument, Operation, Schema } from '../src/server/api-document/document.ts'

/** Types that say more than this are told in the document alone. */
const MAX_TYPE = 600

/**
 * The reference as a chapter in CommonMark, made of the documents of the three ports: a heading for each group, and for
 * each route what it takes, answers and refuses. Types are written as in TypeScript: shorter than JSON Schema.
 */
export function writeApiChapter(documents: ReadonlyMap<string, ApiDocument>): string {
  const ports = [...documents].flatMap(([port, { paths }]) => {
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
    )
    const groups = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')
    return [...groups].flatMap(([group, routes]) => [
      `## ${port}: ${group}`,
      ...routes.map(({ method, path, operation }) => writeRoute(`${method.toUpperCase()} ${path}`, operation)),
    ])
  })
  return [
    '# API reference',
    'Every route of the three ports, made of the schemas that check its requests and answers. The same as OpenAPI 3.1: `GET /openapi.json` on each port, or `stead openapi web`, `backend`, `summarizer`. What the routes mean, and why, is told by the chapter [Interface](http-api.md). An error is `{ error: string, code?: string }`; on `/v1` it is `{ error: { message, … } }`.',
    ...ports,
  ].join('\n\n')
}

/** What programs that read pages are told: what this is, and where its documents are. */
export function writeLlmsText(chapters: readonly { name: string; title: string }[]): string {
  const links = chapters.map(({ name, title }) => `- [${title}](/docs/${name})`)
  return [
    '# Stead',
    '> One program that creates, runs and bills AI agents, each behind its own gateway.',
    'An API key (`sk_…`) goes into `Authorization: Bearer`. As an MCP server, Stead answers at `POST /mcp` with the same key.',
    '## Interface',
    '- [OpenAPI 3.1 of this port](/openapi.json): every route with its schemas\n- [API reference](/docs/api): the same as a page',
    '## Documentation',
    `${links.join('\n')}\n`,
  ].join('\n\n')
}

function writeRoute(name: string, operation: Operation): string {
  const ways = operation.security.map((way) => Object.keys(way).join(' and '))
  const scope = operation['x-required-scope'] ? `; scope of a limited key: ${operation['x-required-scope']}` : ''
  const query = operation.parameters?.filter((parameter) => parameter.in === 'query') ?? []
  const fields = query.map(({ name: field, required, schema }) => `${field}${required ? '' : '?'}: ${toType(schema)}`)
  const body = operation.requestBody?.content['application/json']?.schema
  const lines = [
    ...(fields.length > 0 ? [`query  { ${fields.join(', ')} }`] : []),
    ...(body ? [`body   ${shorten(toType(body))}`] : []),
    ...Object.entries(operation.responses).flatMap(([status, { content, description }]) =>
      Number(status) < 300 ? [`${status}    ${shorten(writeContent(content) ?? description)}`] : [],
    ),
  ]
  const refusals = Object.keys(operation.responses).filter((status) => Number(status) >= 300)
  return [
    `### ${name}`,
    `${operation.summary}.`,
    `${ways.length === 0 ? 'For everybody' : `With ${ways.join(', ')}`}${scope}. ${refusals.length === 0 ? '' : `Also ${refusals.join(', ')}.`}`,
    `\`\`\`\n${lines.join('\n')}\n\`\`\``,
  ].join('\n\n')
}

function writeContent(content: Operation['responses'][string]['content']): string | null {
  if (!content) return null
  return Object.entries(content)
    .map(([type, { schema }]) => (schema ? toType(schema) : type))
    .join(' or ')
}

function shorten(type: string): string {
  return type.length > MAX_TYPE ? `${type.slice(0, MAX_TYPE)} …` : type
}

/** A schema as a type. What JSON Schema says beyond the type (lengths, patterns) stands in the document. */
export function toType(schema: unknown): string {
  if (!isSchema(schema)) return 'unknown'
  const {
    $ref,
    anyOf,
    oneOf,
    allOf,
    enum: values,
    const: value,
    type,
    items,
    properties,
    additionalProperties,
  } = schema
  if (typeof $ref === 'string') return $ref.split('/').at(-1) ?? $ref
  for (const [options, sign] of [
    [anyOf ?? oneOf, ' | '],
    [allOf, ' & '],
  ] as const) {
    if (Array.isArray(options)) return [...new Set(options.map(toType))].join(sign)
  }
  if (Array.isArray(values)) return values.map((one) => JSON.stringify(one)).join(' | ')
  if (value !== undefined) return JSON.stringify(value)
  if (type === 'array') return toListType(toType(items))
  if (type === 'object' && isSchema(properties)) return toObjectType(properties, schema.required)
  if (type === 'object')
    return isSchema(additionalProperties) ? `Record<string, ${toType(additionalProperties)}>` : 'object'
  return Array.isArray(type) ? type.join(' | ') : String(type ?? 'unknown')
}

function toListType(item: string): string {
  return /[|&]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
}

function toObjectType(properties: Schema, required: unknown): string {
  const needed = new Set(Array.isArray(required) ? required : [])
  const fields = Object.entries(properties).map(([name, of]) => `${name}${needed.has(name) ? '' : '?'}: ${toType(of)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
