import type { ApiDocument, ApiOperation, Schema } from '../../src/server/api-document/document.ts'

/** Longer types are cut; the OpenAPI document has them in full. */
const MAX_TYPE = 600

/**
 * Writes the API reference in CommonMark from the OpenAPI documents of the three ports, with a heading per tag and per
 * route. Types are written as in TypeScript, which is shorter than JSON Schema.
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
    'Every endpoint with the types of its request and responses. The same as OpenAPI 3.1: `GET /openapi.json` on each port, or `stead openapi web`, `backend`, `summarizer`. [HTTP API](http-api.md) explains authentication, errors and limits. An error is `{ error: string, code?: string }`; on `/v1` it is `{ error: { message, … } }`.',
    ...ports,
  ].join('\n\n')
}

/** Writes `llms.txt`: a summary of Stead for language models, with links to the documentation. */
export function writeLlmsText(chapters: readonly { name: string; title: string }[]): string {
  const links = chapters.map(({ name, title }) => `- [${title}](/docs/${name})`)
  return [
    '# Stead',
    '> A self-hosted platform that creates, runs and bills AI agents, each behind its own gateway.',
    'Send an API key (`sk_…`) as `Authorization: Bearer`. Stead is also an MCP server at `POST /mcp` with the same key.',
    '## API',
    '- [OpenAPI 3.1 of this port](/openapi.json): every endpoint with its schemas\n- [API reference](/docs/api): the same as a page',
    '## Documentation',
    `${links.join('\n')}\n`,
  ].join('\n\n')
}

function writeRoute(name: string, operation: ApiOperation): string {
  const schemes = operation.security.map((scheme) => Object.keys(scheme).join(' and '))
  const scope = operation['x-required-scope'] ? `; scope: ${operation['x-required-scope']}` : ''
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
    `${schemes.length === 0 ? 'No authentication' : `Authentication: ${schemes.join(', ')}`}${scope}. ${refusals.length === 0 ? '' : `Errors: ${refusals.join(', ')}.`}`,
    `\`\`\`\n${lines.join('\n')}\n\`\`\``,
  ].join('\n\n')
}

function writeContent(content: ApiOperation['responses'][string]['content']): string | null {
  if (!content) return null
  return Object.entries(content)
    .map(([type, { schema }]) => (schema ? toType(schema) : type))
    .join(' or ')
}

function shorten(type: string): string {
  return type.length > MAX_TYPE ? `${type.slice(0, MAX_TYPE)} …` : type
}

/** Writes a schema as a TypeScript type. Lengths and patterns are in the OpenAPI document only. */
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
