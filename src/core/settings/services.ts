import { z } from 'zod'
import { days, evmAddress, feeds, flag, list, url } from './forms.ts'

/** Model providers. */
export const MODELS = {
  AI_PROVIDER: z
    .enum(['openrouter', 'openai', 'anthropic', 'gemini', 'groq'])
    .default('openrouter')
    .describe('Default provider of new agents and of models that the platform selects'),
  OPENROUTER_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('API key of OpenRouter, or several as `key*weight,key*weight`'),
  OPENROUTER_BASE_URL: url.default('https://openrouter.ai/api/v1').describe('OpenAI-compatible API of OpenRouter'),
  OPENAI_API_KEY: z.string().min(1).optional().describe('API key of OpenAI, or several as `key*weight,key*weight`'),
  OPENAI_BASE_URL: url.default('https://api.openai.com/v1').describe('API of OpenAI'),
  ANTHROPIC_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('API key of Anthropic, or several as `key*weight,key*weight`'),
  ANTHROPIC_BASE_URL: url.default('https://api.anthropic.com/v1').describe('OpenAI-compatible API of Anthropic'),
  GEMINI_API_KEY: z.string().min(1).optional().describe('API key of Gemini, or several as `key*weight,key*weight`'),
  GEMINI_BASE_URL: url
    .default('https://generativelanguage.googleapis.com/v1beta/openai')
    .describe('OpenAI-compatible API of Gemini'),
  GROQ_API_KEY: z.string().min(1).optional().describe('API key of Groq, or several as `key*weight,key*weight`'),
  GROQ_BASE_URL: url.default('https://api.groq.com/openai/v1').describe('OpenAI-compatible API of Groq'),
  OLLAMA_BASE_URL: url.optional().meta({
    description: 'Address of an Ollama server',
    otherwise: 'in `home` mode `http://127.0.0.1:11434/v1` if it responds',
  }),
  AI_ECHO: flag(false).describe('`true` adds `local/echo`, an offline model for development that repeats its input'),
  AI_MODEL_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .positive()
    .default(30_000)
    .describe(
      'Timeout of an attempt in milliseconds: for a whole response, for the first token of a stream, or between two chunks',
    ),
  DEMO_DAILY_BUDGET_USD: z.coerce
    .number()
    .nonnegative()
    .default(5)
    .describe('Budget per day (UTC) of all visitors of `POST /api/demo/chat`'),
}

/** Blockchain access and contracts. */
export const CHAINS = {
  BASE_RPC_URL: url
    .optional()
    .describe(
      'RPC endpoint for agent wallets, smart-contract wallets, token gating and attestations; sign-in with plain wallets does not need it',
    ),
  USDC_ADDRESS: evmAddress
    .default('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')
    .describe('USDC contract on `BASE_RPC_URL`'),
  ENS_RPC_URL: url.optional().describe('Ethereum RPC endpoint for verifying agents by ENS name; unset: 503'),
  EAS_ADDRESS: evmAddress
    .default('0x4200000000000000000000000000000000000021')
    .describe('Attestation contract on `BASE_RPC_URL`'),
  CLONE_RPC_URL: url.optional().describe('RPC endpoint for payments for clones and in pathUSD; unset: 503'),
  CLONE_CHAIN_ID: z.coerce.number().int().positive().default(4217).describe('Chain id of `CLONE_RPC_URL`'),
  CLONE_TOKEN_ADDRESS: evmAddress
    .default('0x20c0000000000000000000000000000000000000')
    .describe('Token of payments for clones, pathUSD'),
  CLONE_PAY_TO: evmAddress.optional().describe('Recipient of payments for clones; unset: 503'),
  TOKEN_GATING_ADDRESS: evmAddress.optional().describe('ERC-20 contract for token gating; unset: 503'),
  TOKEN_GATING_MIN_BALANCE: z.coerce
    .bigint()
    .positive()
    .default(1_000_000_000_000_000_000n)
    .describe('Minimum balance in the smallest unit of the token'),
  TOKEN_GATING_TOKEN: z.string().min(1).default('RAVE').describe('Name of the token in responses'),
}

/** Payments of agents and approvals. */
export const PAYMENTS = {
  X402_GATEWAY_URL: url
    .optional()
    .describe('Payment gateway behind `/api/x402`; unset: the built-in one, which pays from agent wallets'),
  APPROVAL_EXPIRY_MINUTES: z.coerce
    .number()
    .positive()
    .max(10_080)
    .default(60)
    .describe('Minutes until a pending approval is denied; fractions are accepted'),
}

/** Card payments, and on-chain payments for the gateway. */
export const CARDS = {
  STRIPE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Stripe key for plans, credits and storage; unset: 503, and administrators assign plans'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Signing secret of `POST /api/webhooks/stripe`, which is required to deliver purchases; unset: 503'),
  STRIPE_API_BASE: url.default('https://api.stripe.com').describe('API of Stripe'),
  GATEWAY_PAY_TO: evmAddress
    .optional()
    .describe(
      'Recipient of on-chain payments for `POST /api/v1/gateway`, in USDC on `BASE_RPC_URL`; unset: credits only',
    ),
  GATEWAY_SETTLER_KEY: z
    .string()
    .regex(/^(?:0x)?[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .optional()
    .describe('Private key of the account that submits these payments to the chain and pays the fees'),
  STRIPE_GRACE_DAYS: days(7).describe('Days that a plan continues after a failed payment'),
}

/** Pages, feeds, radio, video and webhooks. */
export const WEB_TOOLS = {
  SUMMARIZER_ALLOW_PRIVATE: flag(false).describe(
    '`true` allows requests to addresses from users to reach loopback and private networks and all ports',
  ),
  SEARXNG_URL: url
    .optional()
    .describe('SearXNG server with `json` in `search.formats`, for web search of agents; unset: `BRAVE_API_KEY`'),
  BRAVE_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('API key of Brave Search; if both are unset, web search is not available'),
  SUMMARIZER_PAY_TO: evmAddress
    .optional()
    .describe('Address for voluntary payments in USDC on Base that the summarizer returns'),
  FEEDS: feeds.describe('External data feeds of `GET /api/feeds`: a list of `{"id", "url", "preview"?, "source"?}`'),
  RADIO_API_URL: url.default('https://api.mux.com').describe('Provider of live streams with the API of Mux'),
  RADIO_API_ID: z
    .string()
    .min(1)
    .optional()
    .describe('Token id of that provider; unset: 503; broadcasters need a balance of `TOKEN_GATING_MIN_BALANCE`'),
  RADIO_API_TOKEN: z.string().min(1).optional().describe('Token secret of that provider'),
  VIDEO_BASE_URL: url.optional().describe('OpenAI-compatible API that creates videos (`<base>/videos`); unset: 503'),
  VIDEO_API_KEY: z.string().min(1).optional().describe('API key of that provider'),
  VIDEO_MODEL: z.string().min(1).default('sora-2').describe('Model for videos'),
  VIDEO_USD_PER_SECOND: z.coerce.number().nonnegative().optional().meta({
    description: 'Price of a second of video in US dollars; without a price videos are recorded at no cost',
    otherwise: 'published price of `VIDEO_MODEL`',
  }),
  WEBHOOK_VIDEO_SECRET: z
    .string()
    .min(8, 'must have at least 8 characters')
    .optional()
    .describe('Signing secret of `POST /api/webhooks/video` (signatures of Mux); unset: 503'),
  WEBHOOK_EMAIL_SECRET: z
    .string()
    .min(8, 'must have at least 8 characters')
    .optional()
    .describe('Signing secret (`whsec_`) of `POST /api/webhooks/email` (Svix, Standard Webhooks); unset: 503'),
  AGENT_MAIL_ADDRESS: z
    .string()
    .toLowerCase()
    .regex(/^[\w.+-]*\{agent\}@[a-z0-9.-]+$/, 'must be an address such as {agent}@agents.example.org')
    .optional()
    .describe('Mail address of agents, with `{agent}` in place of the id; unset: agents do not reply to mail'),
  EMAIL_AUTHSERV_ID: z
    .string()
    .regex(/^[^\s;"()]+$/, 'must be the first word of Authentication-Results, such as mx.example.org')
    .toLowerCase()
    .optional()
    .meta({
      description:
        'Name (authserv-id, RFC 8601) of the mail service whose `Authentication-Results` are used; mails without them are not authenticated',
      otherwise: 'the first header is used, whatever server added it',
    }),
  EMAIL_ALLOWED_SENDERS: list
    .transform((emails) => emails.map((email) => email.toLowerCase()))
    .describe(
      'Addresses that can write to every agent at `<agent id>@…` or `…+<agent id>@…`; the mail service must reject forged senders',
    ),
}
