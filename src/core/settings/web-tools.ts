import { z } from 'zod'
import { evmAddress, feeds, flag, list, url } from './forms.ts'

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
