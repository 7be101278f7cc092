import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { hasVersion, ImageReference } from './text/image-reference.ts'
import { VERSION } from './version.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const port = (value: number) => z.coerce.number().int().min(0).max(65_535).default(value).meta({ form: '0 to 65535' })
const perMinute = (value: number) => z.coerce.number().int().positive().default(value)
const flag = (value: boolean) =>
  z
    .stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] })
    .default(value)
    .meta({ form: '`true`, `false`' })
const seconds = (value: number) => z.coerce.number().nonnegative().max(86_400).default(value).meta({ form: 'seconds' })
/** A hundred years are as good as for ever. */
const days = (value: number) => z.coerce.number().int().nonnegative().max(36_500).default(value).meta({ form: 'days' })
const atLeastOne = (value: number) => z.coerce.number().int().positive().default(value)
const toParts = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
const list = z.string().default('').transform(toParts).meta({ form: 'comma-separated' })
const url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((text) => text.replace(/\/+$/, ''))
  .meta({ form: 'URL' })
const origin = url
  .refine((text) => new URL(text).href === `${new URL(text).origin}/`, 'must be an origin, without user, path or query')
  .transform((text) => new URL(text).origin)
  .meta({ form: 'origin' })
/** Labels of letters, digits and dashes; a scheme, a port or a path is more likely a slip. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const hostName = z
  .string()
  .toLowerCase()
  .regex(HOST_NAME, 'must be a host name, without scheme, port or path')
  .meta({ form: 'host name' })
/** Compared character by character with what tokens say (OpenID Connect Core, 2): nothing is trimmed. */
const issuer = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).meta({ form: 'URL' })
const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits')
  .meta({ form: 'address' })
const cidrs = list
  .refine((parts) => parts.every((part) => isCidr(part)), 'must be a comma-separated list of CIDR ranges')
  .meta({ form: 'CIDR ranges, comma-separated' })
const repositories = z
  .string()
  .transform(toParts)
  .refine(
    (parts) => parts.every((part) => ImageReference.safeParse(part).success && !hasVersion(part)),
    'must be a comma-separated list of repositories, without tags',
  )
  .meta({ form: 'comma-separated' })

const wholeUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const badFeeds = 'must be a JSON list of {"id", "url", "preview"?, "source"?} with ids of their own'
const feeds = z
  .string()
  .default('[]')
  .transform((text, context) => {
    try {
      const parsed: unknown = JSON.parse(text)
      return parsed
    } catch {
      context.addIssue({ code: 'custom', message: badFeeds })
      return z.NEVER
    }
  })
  .pipe(
    z.array(
      z.object({
        id: z.string(badFeeds).regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and dashes'),
        url: wholeUrl,
        preview: wholeUrl.optional(),
        source: z.string(badFeeds).min(1).max(100).optional(),
      }),
      badFeeds,
    ),
  )
  .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, badFeeds)
  .meta({ form: 'JSON' })

const PLACE = {
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      '`production`: a short `INTERNAL_API_KEY` stops the start, and links that cannot be mailed are not written to the log',
    ),
  HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address that all three listeners bind; `0.0.0.0` is every one of this machine'),
  WEB_PORT: port(3000).describe('Port of the dashboard and the public API; `0` picks a free one and prints it'),
  BACKEND_PORT: port(3001).describe('Port for services and agents; `0` picks a free one and prints it'),
  SUMMARIZER_PORT: port(3100).describe('Port of the summarizer; `0` picks a free one and prints it'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('./data')
    .describe("Database, generated keys, agents' folders and backups; made with mode 0700"),
  DATABASE_URL: z
    .string()
    .startsWith('file:', 'must be a file: URL (libSQL servers are not supported yet)')
    .optional()
    .meta({ description: 'Another place for the database file', otherwise: '`file:<DATA_DIR>/stead.db`' }),
  DEPLOYMENT_MODE: z
    .enum(['cloud', 'home', 'link'])
    .default('cloud')
    .describe('At `home` the first account owns the house and agents need no Docker; `scripts/run` sets it'),
  MIN_FREE_DISK_MB: z.coerce
    .number()
    .nonnegative()
    .default(256)
    .describe('Below so many free megabytes users’ writes answer 507, `/readyz` 503, and the operator is told'),
  LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default('info')
    .describe('The least important lines that are still written; `silent` writes none'),
  PLANNED_ENDPOINTS: flag(true).describe(
    '`false` hides the file explorer, `/api/usage/*` and `POST /api/keys/validate`',
  ),
}

const RETENTION = {
  RETENTION_USAGE_DAYS: days(400).describe('Days until rows of usage are deleted; sums of days stay; `0`: never'),
  RETENTION_TOOL_EVENTS_DAYS: days(90).describe('Days until uses of tools are deleted; sums of days stay; `0`: never'),
  RETENTION_MESSAGES_DAYS: days(0).describe(
    'Days until messages are deleted; `0`: never, the storage of their owner is their limit',
  ),
  RETENTION_AUDIT_DAYS: days(400).describe('Days until lines of the audit log are deleted; `0`: never'),
  RETENTION_SECURITY_EVENTS_DAYS: days(400).describe(
    'Days until security events are deleted, and after which older ones are refused; `0`: never',
  ),
  RETENTION_INBOX_DAYS: days(90).describe('Days until mail of agents is deleted; `0`: never'),
}

const NAMES = {
  APP_URL: origin.optional().meta({
    description: 'Public origin of the dashboard, for links in mails and for sign-in; `https` makes cookies `Secure`',
    otherwise: '`http://localhost:<WEB_PORT>`',
  }),
  DOMAIN: z.string().min(1).toLowerCase().default('localhost').describe("The platform's own domain"),
  AGENTS_DOMAIN: hostName.optional().meta({
    description:
      "Agents are `<id>.<AGENTS_DOMAIN>`; a registrable domain of its own keeps their pages away from the dashboard's cookies",
    otherwise: '`agents.<DOMAIN>`',
  }),
  ALLOWED_HOSTS: list
    .transform((names) => names.map((name) => name.toLowerCase()))
    .refine(
      (names) => names.every((name) => HOST_NAME.test(name)),
      'must be a comma-separated list of host names, without scheme or port',
    )
    .describe(
      "Further names under which this machine is asked; besides `APP_URL`'s, `DOMAIN`, agents', `localhost` and addresses, others get 421",
    ),
  TRUSTED_PROXIES: cidrs.describe('Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed'),
}

const OWN_SECRETS = {
  INTERNAL_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Bearer of the backend; without it callers from outside get 500; 32 characters or more in production'),
  ENCRYPTION_KEY: z.string().min(16, 'must have at least 16 characters').optional().meta({
    description: 'Seals secrets at rest and belongs to its database: with another one Stead does not start',
    otherwise: 'generated in `DATA_DIR/encryption.key`',
  }),
}

const PEOPLE = {
  ADMIN_EMAILS: list
    .transform((emails) => emails.map((email) => email.toLowerCase()))
    .describe('Who administers; believed once the address is proved, or at once where no mail is set up'),
  SIGN_UP: z
    .enum(['open', 'invite', 'closed'])
    .default('open')
    .describe('`invite`: with a code of `POST /api/invite/generate`; `closed`: by `stead user create` only'),
  BOT_DETECTION: z
    .enum(['off', 'basic', 'pow'])
    .default('basic')
    .describe(
      'At sign-up and forgotten passwords. `basic`: a field that people never see, and crawlers that say so; `pow`: a solved challenge of `GET /api/auth/challenge` as well',
    ),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be an smtp or smtps URL' })
    .meta({ form: '`smtp://` or `smtps://` URL' })
    .optional()
    .describe(
      'Mail server for resets, proofs of addresses and notices; without it addresses are never proved, and links stand in the log, or forgotten passwords answer 503 in production',
    ),
  MAIL_FROM: z.string().min(3).default('Stead <stead@localhost>').describe('Sender of these mails'),
}

const SIGN_IN = {
  IDP_A_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe('Sign-in with GitHub; register the callback `<APP_URL>/api/auth/idp-a/callback` there'),
  IDP_A_CLIENT_SECRET: z.string().min(1).optional().describe('Belongs to `IDP_A_CLIENT_ID`'),
  IDP_A_AUTHORIZE_URL: url
    .default('https://github.com/login/oauth/authorize')
    .describe("Of another provider in GitHub's form"),
  IDP_A_TOKEN_URL: url
    .default('https://github.com/login/oauth/access_token')
    .describe("Of another provider in GitHub's form"),
  IDP_A_API_URL: url.default('https://api.github.com').describe("Of another provider in GitHub's form"),
  IDP_B_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe('Sign-in with an OpenID provider; register the callback `<APP_URL>/api/auth/idp-b/callback` there'),
  IDP_B_CLIENT_SECRET: z.string().min(1).optional().describe('Belongs to `IDP_B_CLIENT_ID`'),
  IDP_B_ISSUER: issuer.default('https://accounts.google.com').describe('Where that provider is discovered'),
  RISC_ISSUER: issuer
    .optional()
    .meta({ description: 'Whose security events `POST /api/security/risc` believes', otherwise: '`IDP_B_ISSUER`' }),
  RISC_CONFIGURATION_URL: url.optional().meta({
    description: 'Where the keys of that issuer are found',
    otherwise: '`<RISC_ISSUER>/.well-known/risc-configuration`',
  }),
  RISC_AUDIENCES: list.meta({
    description: 'Whom the events must be meant for; without an audience none is believed',
    otherwise: '`IDP_B_CLIENT_ID`',
  }),
  WALLET_EMAIL_DOMAIN: z.string().min(1).toLowerCase().optional().meta({
    description: 'The account of a wallet has `<address>@` and this as its address; nobody else may take such a one',
    otherwise: '`wallet.<DOMAIN>`',
  }),
  SIWE_CHAIN_ID: z.coerce.number().int().positive().default(8453).describe('The chain that wallets sign for'),
  SOCIAL_ID_ISSUER: issuer
    .optional()
    .describe('Whose signed identity tokens `POST /api/auth/social-id/verify` takes; unset: 503'),
  SOCIAL_ID_AUDIENCE: z.string().min(1).optional().describe('Whom those tokens must be meant for'),
}

const RATES = {
  RATE_LIMIT_BACKEND: perMinute(120).describe('`/api/*` of the backend; `/v1` counts the same number for each bearer'),
  RATE_LIMIT_AI: perMinute(30).describe('`/api/ai/*`'),
  RATE_LIMIT_DEPLOYMENTS: perMinute(5).describe('`POST /api/deployments`'),
  RATE_LIMIT_AGENTS: perMinute(100).describe('`/api/agents` of the web'),
  RATE_LIMIT_CHAT: perMinute(60).describe('`/api/chat` of the web'),
  RATE_LIMIT_INSTANCE: perMinute(30).describe('`/api/instance/*`'),
  RATE_LIMIT_PROVISION: perMinute(5).describe('`/api/provision` of the web'),
  RATE_LIMIT_DEMO: perMinute(20).describe('`POST /api/demo/chat`'),
  RATE_LIMIT_SUMMARIZER: perMinute(60).describe('The summarizer'),
  RATE_LIMIT_REGISTER: perMinute(20).describe('Sign-up'),
  RATE_LIMIT_LOGIN: perMinute(20).describe('Sign-in, in every way'),
  RATE_LIMIT_PASSWORD: perMinute(10).describe('Forgotten passwords and resets'),
}

const AGENTS = {
  AGENT_RUNTIME: z.enum(['docker', 'swarm', 'process', 'auto']).optional().meta({
    description:
      'What new agents run as. `docker`: containers of one engine; `swarm`: services of a Docker Swarm; `process`: child processes; `auto`: containers when an engine has the image, else processes',
    otherwise: 'cloud `docker`, home `auto`',
  }),
  AGENT_IMAGE: ImageReference.default(`stead-agent:${VERSION}`).describe(
    'What containers of new agents are made from; `bun run agent:image` makes the default',
  ),
  AGENT_IMAGES: repositories.optional().meta({
    description:
      'Repositories, without tags, whose images owners may choose besides `AGENT_IMAGE`; administrators may name any image',
    otherwise: '`stead-agent`, `openclaw-agent`, and what the engine has with our label',
  }),
  DOCKER_HOST: z
    .string()
    .min(1)
    .default('/var/run/docker.sock')
    .describe('The container engine, as the Docker CLI reads it'),
  AGENTS_BASE_PORT: z.coerce
    .number()
    .int()
    .min(1024)
    .max(60_000)
    .default(19_000)
    .describe('First port of agents, on 127.0.0.1 only'),
  AGENT_PROCESS_COMMAND: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'What the process runtime starts', otherwise: 'this program, `agent`' }),
  KILL_SWITCH: flag(false).describe('`true`: provisioning answers 503'),
  BROWSE_ROOT: z.string().min(1).optional().meta({
    description: 'The files that `/api/browse` shows when no agent is named: to the operator and to administrators',
    otherwise: '`<DATA_DIR>/workspace`',
  }),
}

const WATCHDOG = {
  WATCHDOG_CHECK_INTERVAL: seconds(120).describe('Between two looks at an agent'),
  WATCHDOG_DEGRADED_CHECK_INTERVAL: seconds(5).describe('Between two looks at one that fails'),
  WATCHDOG_STARTUP_FAILURE_THRESHOLD: atLeastOne(3).describe('Failed looks after the start period until more is done'),
  WATCHDOG_MAX_REPAIR_ATTEMPTS: atLeastOne(2).describe('Repairs until an agent is given up'),
  WATCHDOG_CRASH_LOOP_WINDOW: seconds(300).describe(
    'Within so long, `WATCHDOG_CRASH_LOOP_THRESHOLD` crashes are a crash loop',
  ),
  WATCHDOG_CRASH_LOOP_THRESHOLD: atLeastOne(3).describe('So many crashes end an agent until somebody starts it'),
  WATCHDOG_AUTO_REPAIR: flag(true).describe('`false`: the watchdog only tells'),
  WATCHDOG_KILL_WAIT: seconds(5).describe('Of a repair, between the end of an agent and its start'),
  WATCHDOG_RESTART_WAIT: seconds(30).describe('Of a repair, between the start of an agent and the look at it'),
  TELEGRAM_BOT_TOKEN: z.string().min(1).optional().describe('The bot by which the watchdog writes to operators'),
  TELEGRAM_ADMIN_CHAT_ID: z.string().min(1).optional().describe('The chat that it writes to'),
  TELEGRAM_API_URL: url.default('https://api.telegram.org').describe('Where the bot is asked'),
  WATCHDOG_WEBHOOK_URL: url
    .optional()
    .describe('Where the watchdog posts JSON, signed as Standard Webhooks says; `POST /api/watchdog/test` tries it'),
  WATCHDOG_WEBHOOK_SECRET: z
    .string()
    .min(24, 'must have at least 24 characters')
    .optional()
    .meta({ description: 'Signs those posts', otherwise: 'generated in `DATA_DIR/webhook.key`' }),
}

const MODELS = {
  AI_PROVIDER: z
    .enum(['openrouter', 'openai', 'anthropic', 'gemini', 'groq'])
    .default('openrouter')
    .describe("The provider that serves everyone's models"),
  OPENROUTER_API_KEY: z.string().min(1).optional().describe('Models of OpenRouter; unset: not asked'),
  OPENROUTER_BASE_URL: url
    .default('https://openrouter.ai/api/v1')
    .describe('Where OpenRouter is asked, in the OpenAI form'),
  OPENAI_API_KEY: z.string().min(1).optional().describe('Models of OpenAI; unset: not asked'),
  OPENAI_BASE_URL: url.default('https://api.openai.com/v1').describe('Where OpenAI is asked, in the OpenAI form'),
  ANTHROPIC_API_KEY: z.string().min(1).optional().describe('Models of Anthropic; unset: not asked'),
  ANTHROPIC_BASE_URL: url
    .default('https://api.anthropic.com/v1')
    .describe('Where Anthropic is asked, in the OpenAI form'),
  GEMINI_API_KEY: z.string().min(1).optional().describe('Models of Gemini; unset: not asked'),
  GEMINI_BASE_URL: url
    .default('https://generativelanguage.googleapis.com/v1beta/openai')
    .describe('Where Gemini is asked, in the OpenAI form'),
  GROQ_API_KEY: z.string().min(1).optional().describe('Models of Groq; unset: not asked'),
  GROQ_BASE_URL: url.default('https://api.groq.com/openai/v1').describe('Where Groq is asked, in the OpenAI form'),
  OLLAMA_BASE_URL: url
    .optional()
    .meta({ description: 'A local model server', otherwise: 'at home `http://127.0.0.1:11434/v1` when it answers' }),
  AI_ECHO: flag(false).describe(
    '`true` adds `local/echo`, an offline development model that repeats what it is told and says so',
  ),
  AI_MODEL_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .positive()
    .default(30_000)
    .describe('For one attempt: a whole answer, the first word of a streamed one, or the pause between two pieces'),
  DEMO_DAILY_BUDGET_USD: z.coerce
    .number()
    .nonnegative()
    .default(5)
    .describe('What all strangers together may cost in a day (UTC) at `POST /api/demo/chat`'),
}

const CHAINS = {
  BASE_RPC_URL: url
    .optional()
    .describe(
      'Chain access for agents’ wallets, wallets that are contracts, token gating and attestations; plain wallets of people do not need it',
    ),
  USDC_ADDRESS: evmAddress
    .default('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')
    .describe('USDC on `BASE_RPC_URL`, which agents’ wallets hold and pay with'),
  ENS_RPC_URL: url.optional().describe('Main chain, for the verification of agents by ENS name; unset: 503'),
  EAS_ADDRESS: evmAddress
    .default('0x4200000000000000000000000000000000000021')
    .describe('Contract of attestations on `BASE_RPC_URL`'),
  CLONE_RPC_URL: url
    .optional()
    .describe('Where payments for clones are looked up and agents’ wallets pay in pathUSD; unset: 503'),
  CLONE_CHAIN_ID: z.coerce.number().int().positive().default(4217).describe('Chain of these payments'),
  CLONE_TOKEN_ADDRESS: evmAddress
    .default('0x20c0000000000000000000000000000000000000')
    .describe('Token of these payments, pathUSD'),
  CLONE_PAY_TO: evmAddress.optional().describe('Whom these payments go to; unset: 503'),
  TOKEN_GATING_ADDRESS: evmAddress.optional().describe('ERC-20 contract whose holders pass; unset: 503'),
  TOKEN_GATING_MIN_BALANCE: z.coerce
    .bigint()
    .positive()
    .default(1_000_000_000_000_000_000n)
    .describe('Smallest balance that passes, in its smallest unit'),
  TOKEN_GATING_TOKEN: z.string().min(1).default('RAVE').describe('Name of the token in answers'),
}

const PAYMENTS = {
  X402_GATEWAY_URL: url
    .optional()
    .describe('Payment gateway behind `/api/x402`; unset: the built-in one, which pays from agents’ wallets'),
  APPROVAL_EXPIRY_MINUTES: z.coerce
    .number()
    .positive()
    .max(10_080)
    .default(60)
    .describe('Minutes until what waits for an approval is denied; fractions are accepted'),
}

const WEB_TOOLS = {
  SUMMARIZER_ALLOW_PRIVATE: flag(false).describe(
    '`true` lets the summarizer, feeds and other requests to addresses that users give reach loopback and private networks, and every port',
  ),
  SUMMARIZER_PAY_TO: evmAddress
    .optional()
    .describe('An address for USDC on Base that the summarizer names; nobody has to pay'),
  FEEDS: feeds.describe('Data feeds of `GET /api/feeds`: a list of `{"id", "url", "preview"?, "source"?}`'),
  RADIO_API_URL: url.default('https://api.mux.com').describe("Provider of live streams in Mux's form"),
  RADIO_API_ID: z
    .string()
    .min(1)
    .optional()
    .describe('Its token id; unset: 503; who broadcasts must hold `TOKEN_GATING_MIN_BALANCE`'),
  RADIO_API_TOKEN: z.string().min(1).optional().describe('Its token secret'),
  VIDEO_BASE_URL: url
    .optional()
    .describe('Endpoint of the OpenAI form that makes videos (`<base>/videos`); unset: 503'),
  VIDEO_API_KEY: z.string().min(1).optional().describe('Its key'),
  VIDEO_MODEL: z.string().min(1).default('sora-2').describe('Its model'),
  VIDEO_USD_PER_SECOND: z.coerce.number().nonnegative().optional().meta({
    description: 'What a second of video costs you, in US dollars; unset and unpublished: videos are booked at no cost',
    otherwise: 'the published price of `VIDEO_MODEL`',
  }),
  WEBHOOK_VIDEO_SECRET: z
    .string()
    .min(8, 'must have at least 8 characters')
    .optional()
    .describe("Signing secret of `POST /api/webhooks/video` (Mux's signatures); unset: 503"),
  WEBHOOK_EMAIL_SECRET: z
    .string()
    .min(8, 'must have at least 8 characters')
    .optional()
    .describe('`whsec_` secret of `POST /api/webhooks/email` (Svix, Standard Webhooks); unset: 503'),
  EMAIL_ALLOWED_SENDERS: list
    .transform((emails) => emails.map((email) => email.toLowerCase()))
    .describe(
      'Addresses whose mail reaches agents at `<agent id>@…` or `…+<agent id>@…`; let the mail service refuse forged senders',
    ),
}

const CARDS = {
  STRIPE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Plans, credits and storage by card; unset: 503, and plans are given by an administrator'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Signing secret of `POST /api/webhooks/stripe`, which alone gives what was paid; unset: 503'),
  STRIPE_API_BASE: url.default('https://api.stripe.com').describe('Where that service is asked'),
  GATEWAY_PAY_TO: evmAddress
    .optional()
    .describe(
      'Whom payments on chain for `POST /api/v1/gateway` go to, in USDC on `BASE_RPC_URL`; unset: credits only',
    ),
  GATEWAY_SETTLER_KEY: z
    .string()
    .regex(/^(?:0x)?[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .optional()
    .describe('Key of the account that takes these payments to the chain, and pays the fees of that'),
  STRIPE_GRACE_DAYS: days(7).describe('Days for which a plan goes on when its payment has failed'),
}

/**
 * Every setting by its variable, as people look for them. `describe` says what it does; `otherwise`, in the place of a
 * default, what an unset one stands for; `form` how its value is written.
 */
export const SETTING_GROUPS = [
  { title: 'Where it listens and keeps its data', settings: PLACE },
  { title: 'How long details are kept', settings: RETENTION },
  { title: 'Names and proxies', settings: NAMES },
  { title: 'Secrets of the platform', settings: OWN_SECRETS },
  { title: 'People', settings: PEOPLE },
  { title: 'Other ways to sign in', settings: SIGN_IN },
  { title: 'Requests a minute', settings: RATES },
  { title: 'Agents', settings: AGENTS },
  { title: 'Watchdog', settings: WATCHDOG },
  { title: 'Models', settings: MODELS },
  { title: 'Chains', settings: CHAINS },
  { title: 'Payments and approvals', settings: PAYMENTS },
  { title: 'Cards and the gateway', settings: CARDS },
  { title: 'Web tools', settings: WEB_TOOLS },
] as const

export const Environment = z.object({
  ...PLACE,
  ...RETENTION,
  ...NAMES,
  ...OWN_SECRETS,
  ...PEOPLE,
  ...SIGN_IN,
  ...RATES,
  ...AGENTS,
  ...WATCHDOG,
  ...MODELS,
  ...CHAINS,
  ...PAYMENTS,
  ...CARDS,
  ...WEB_TOOLS,
})

/** Settings whose value may stand in a file instead, named by `<NAME>_FILE`. */
export const SECRETS = [
  'INTERNAL_API_KEY',
  'ENCRYPTION_KEY',
  'OPENROUTER_API_KEY',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GROQ_API_KEY',
  'IDP_A_CLIENT_SECRET',
  'IDP_B_CLIENT_SECRET',
  'SMTP_URL',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'GATEWAY_SETTLER_KEY',
  'BASE_RPC_URL',
  'ENS_RPC_URL',
  'CLONE_RPC_URL',
  'X402_GATEWAY_URL',
  'TELEGRAM_BOT_TOKEN',
  'WATCHDOG_WEBHOOK_SECRET',
  'WEBHOOK_VIDEO_SECRET',
  'WEBHOOK_EMAIL_SECRET',
  'RADIO_API_TOKEN',
  'VIDEO_API_KEY',
  'FEEDS',
] as const

/** Is `text` a range such as `10.0.0.0/8` or a single address? Short forms such as `10` are more likely a slip. */
function isCidr(text: string): boolean {
  const [address = ''] = text.split('/')
  const isWhole = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isWhole && (address === text || ipaddr.isValidCIDR(text))
}
