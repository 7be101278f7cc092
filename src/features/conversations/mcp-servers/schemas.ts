import { z } from 'zod'
import { McpCommands, ToolPins } from '../../../core/agents/mcp.ts'
import { JsonObjectText } from '../../../core/json/bounded-json.ts'
import { webUrl } from '../../../core/text/names.ts'

const BAD_NAME = 'name must be lower-case letters, digits and dashes, at most 30'
const Name = z.string(BAD_NAME).regex(/^[a-z0-9][a-z0-9-]{0,29}$/, BAD_NAME)
const Url = webUrl('url must be an http or https URL', { max: 2048, tooLong: 'url is too long' })
const BAD_HEADERS = 'headers must be at most 20 names with their values'
const Headers = z
  .record(
    z.string().regex(/^[a-z0-9-]{1,64}$/i, BAD_HEADERS),
    z.string(BAD_HEADERS).max(8192, BAD_HEADERS),
    BAD_HEADERS,
  )
  .refine((headers) => Object.keys(headers).length <= 20, BAD_HEADERS)
const BAD_TOOLS = 'tools must be at most 200 names'
const Tools = z.array(z.string(BAD_TOOLS).min(1, BAD_TOOLS).max(1000, BAD_TOOLS), BAD_TOOLS).max(200, BAD_TOOLS)

const BAD_FINGERPRINTS = 'acceptedTools must map names of tools to their fingerprints'
const Fingerprints = z
  .record(z.string().max(1000), z.string(BAD_FINGERPRINTS).regex(/^[0-9a-f]{64}$/, BAD_FINGERPRINTS), BAD_FINGERPRINTS)
  .refine((tools) => Object.keys(tools).length <= 200, BAD_FINGERPRINTS)

const BAD_COMMAND = 'command must be a program, such as npx'
const Command = z.string(BAD_COMMAND).min(1, BAD_COMMAND).max(500, BAD_COMMAND).refine(hasNoNul, BAD_COMMAND)
const BAD_ARGS = 'args must be at most 50 texts'
const Args = z.array(z.string(BAD_ARGS).max(2000, BAD_ARGS).refine(hasNoNul, BAD_ARGS), BAD_ARGS).max(50, BAD_ARGS)
const BAD_ENVIRONMENT = 'environment must be at most 20 variables with their values'
const Environment = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, BAD_ENVIRONMENT),
    z.string(BAD_ENVIRONMENT).max(8192, BAD_ENVIRONMENT).refine(hasNoNul, BAD_ENVIRONMENT),
    BAD_ENVIRONMENT,
  )
  .refine((variables) => Object.keys(variables).length <= 20, BAD_ENVIRONMENT)

/** `expired`: the authorization server or the MCP server no longer accepts the tokens, or wants further scopes. */
export const AUTHORIZATION_STATUSES = ['disconnected', 'connected', 'expired'] as const

const BAD_SCOPE = 'scope must be names without quotes, separated by spaces'
/** RFC 6749, 3.3 and appendix A. */
const Scope = z
  .string(BAD_SCOPE)
  .trim()
  .max(2000, BAD_SCOPE)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e ]+$/, BAD_SCOPE)
const BAD_CLIENT = 'clientId and clientSecret must be printable text'
const ClientText = z
  .string(BAD_CLIENT)
  .trim()
  .min(1, BAD_CLIENT)
  .max(1000, BAD_CLIENT)
  .regex(/^[\x20-\x7e]+$/, BAD_CLIENT)

/**
 * Body of `POST /api/agents/:id/mcp-servers/:serverId/authorization`. Without `clientId` Stead uses the client of the
 * last connection, or registers one. Without `scope` it requests the scopes that the MCP server names.
 */
export const AuthorizeRequest = z
  .object({ clientId: ClientText.optional(), clientSecret: ClientText.optional(), scope: Scope.optional() })
  .refine(({ clientId, clientSecret }) => clientSecret === undefined || clientId !== undefined, 'clientId is required')
  .meta({ examples: [{}] })
export type AuthorizeRequest = z.infer<typeof AuthorizeRequest>

/** Where the owner's browser goes to authorize the agent, by which issuer, and for which scopes. */
export const StartedAuthorization = z.object({ url: z.string(), issuer: z.string(), scopes: z.array(z.string()) })
export type StartedAuthorization = z.infer<typeof StartedAuthorization>

/** `revoked` is false where the authorization server offers no revocation or refused it; `error` says why it failed. */
export const EndedAuthorization = z.object({ revoked: z.boolean(), error: z.string().nullable() })

/** The OAuth access of an agent to an MCP server. `missingScopes` are wanted by the server and not granted. */
const Authorization = z.object({
  status: z.enum(AUTHORIZATION_STATUSES),
  issuer: z.string().nullable(),
  scopes: z.array(z.string()),
  missingScopes: z.array(z.string()),
  expiresAt: z.string().nullable(),
  connectedAt: z.string().nullable(),
})
export type Authorization = z.infer<typeof Authorization>

/** Query of `GET /api/mcp/callback`, which is untrusted. */
export const CallbackQuery = z.object({
  state: z.string().max(1000).optional(),
  code: z.string().max(8192).optional(),
  iss: z.string().max(2048).optional(),
  error: z.string().max(1000).optional(),
})
export type CallbackQuery = z.infer<typeof CallbackQuery>

/** Outcomes of a callback, in the query of the agent's page. */
export const CONNECT_OUTCOMES = ['connected', 'denied', 'expired', 'issuer', 'failed'] as const
export type ConnectOutcome = (typeof CONNECT_OUTCOMES)[number]

const NewServer = z.object({
  name: Name,
  url: Url.optional(),
  command: Command.optional(),
  args: Args.default([]),
  environment: Environment.default({}),
  headers: Headers.default({}),
  bearer: z.string('bearer must be text').min(1, 'bearer is empty').max(8192, 'bearer is too long').optional(),
  allowedTools: Tools.nullable().default(null),
  trustedTools: Tools.nullable().default(null),
  enabled: z.boolean('enabled must be true or false').default(true),
})

/**
 * Body of `POST /api/agents/:id/mcp-servers`, with either `url` or `command`. `bearer` sets the Authorization header;
 * headers and environment are stored sealed and never shown. `trustedTools` need no approval; null trusts tools that
 * the server marks read-only.
 */
export const AddServerRequest = NewServer.refine(
  ({ url, command }) => (url === undefined) !== (command === undefined),
  'Either url or command is required',
)
  .refine(
    ({ url, args, environment }) => url === undefined || (args.length === 0 && Object.keys(environment).length === 0),
    'args and environment belong to a command',
  )
  .refine(
    ({ command, headers, bearer }) =>
      command === undefined || (bearer === undefined && Object.keys(headers).length === 0),
    'headers and bearer belong to a url',
  )
  .meta({ examples: [{ name: 'weather', url: 'https://mcp.example.com/mcp', bearer: 'secret' }] })
export type AddServerRequest = z.infer<typeof AddServerRequest>

/**
 * Body of `PATCH /api/agents/:id/mcp-servers/:serverId`. Omitted fields stay unchanged. A new origin deletes the
 * headers unless they are given too, so that another server does not receive them; a new command or new arguments
 * delete the environment. A server cannot change between `url` and `command`. `acceptedTools` accepts changed tools
 * with the fingerprints that the owner has seen.
 */
export const ChangeServerRequest = z.object({
  url: Url.optional(),
  command: Command.optional(),
  args: Args.optional(),
  environment: Environment.optional(),
  headers: Headers.optional(),
  bearer: NewServer.shape.bearer,
  acceptedTools: Fingerprints.optional(),
  allowedTools: Tools.nullable().optional(),
  trustedTools: Tools.nullable().optional(),
  enabled: z.boolean('enabled must be true or false').optional(),
})
export type ChangeServerRequest = z.infer<typeof ChangeServerRequest>

/** Body of `POST /api/agents/:id/mcp-servers/:serverId/try`: the owner calls a tool. */
export const TryRequest = z
  .object({
    tool: z.string('tool is required').min(1, 'tool is required').max(1000),
    arguments: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ examples: [{ tool: 'forecast', arguments: { city: 'Berlin' } }] })

/** Body of `POST /v1/mcp/call`: `arguments` is JSON text, so that exactly the approved input is sent. */
export const CallRequest = z
  .object({
    server: Name,
    tool: z.string('tool is required').min(1, 'tool is required').max(1000),
    arguments: JsonObjectText,
    approvalId: z.string().max(100).nullish(),
  })
  .meta({ examples: [{ server: 'weather', tool: 'forecast', arguments: '{"city":"Berlin"}' }] })
export type CallRequest = z.infer<typeof CallRequest>

/** An MCP server, with a `url` or a `command`. Only the names of headers and environment variables are shown. */
export const McpServer = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string().nullable(),
  headerNames: z.array(z.string()),
  command: z.string().nullable(),
  args: z.array(z.string()),
  environmentNames: z.array(z.string()),
  allowedTools: z.array(z.string()).nullable(),
  trustedTools: z.array(z.string()).nullable(),
  enabled: z.boolean(),
  authorization: Authorization.nullable(),
  createdAt: z.string(),
})
export type McpServer = z.infer<typeof McpServer>
export const OneMcpServer = z.object({ server: McpServer })
export const McpServerList = z.object({ servers: z.array(McpServer) })
export type McpServerList = z.infer<typeof McpServerList>

/** A tool as the server currently describes it. */
const Tool = z.object({
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  isReadOnly: z.boolean(),
})
export const McpServerTools = z.object({
  tools: z.array(
    Tool.extend({
      isAllowed: z.boolean(),
      isTrusted: z.boolean(),
      /** The description or schema differs from the accepted one: the tool needs approval until the owner accepts it. */
      isChanged: z.boolean(),
      fingerprint: z.string(),
    }),
  ),
})
export type McpServerTools = z.infer<typeof McpServerTools>

/**
 * Answer of `GET /v1/mcp/tools`: usable tools, and servers that failed to list theirs. With `connectUrl` the owner has
 * to authorize the agent there.
 */
export const OfferedTools = z.object({
  tools: z.array(Tool.extend({ server: z.string(), needsApproval: z.boolean() })),
  failed: z.array(z.object({ server: z.string(), error: z.string(), connectUrl: z.string().nullable() })),
})

/** Answer of `GET /api/mcp/directory`. */
export const McpDirectory = z.object({
  servers: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      description: z.string(),
      url: z.string(),
      auth: z.enum(['none', 'oauth', 'oauth-client']),
      documentation: z.string(),
    }),
  ),
})
export type McpDirectory = z.infer<typeof McpDirectory>

/** Answer of `GET /v1/mcp/commands`: servers that the agent starts itself, with their environment. */
export const OwnCommands = McpCommands

const BAD_PINS = 'toolPins must map names of tools to their fingerprints'
/** `PUT /v1/mcp/commands/:name/pins`: the tools that a server lists, by name. The answer has all pins of the server. */
export const PinToolsRequest = z.object({
  toolPins: Fingerprints.refine((tools) => Object.keys(tools).length > 0, BAD_PINS),
})
export const PinnedTools = z.object({ toolPins: ToolPins })

export const ToolResult = z.object({ text: z.string(), isError: z.boolean() })

function hasNoNul(text: string): boolean {
  return !text.includes('\0')
}
