import { z } from 'zod'
import { evmAddress, feeds, flag, list, url } from './forms.ts'

/** Pages, feeds, radio, video and webhooks. */
export const WEB_TOOLS = {
  SUMMARIZER_ALLOW_PRIVATE: flag(false).describe(
    '`true` lets the summarizer, feeds and other requests to addresses that users give reach loopback and private networks, and every port',
  ),
  SEARXNG_URL: url
    .optional()
    .describe('A SearXNG whose `search.formats` has `json`: web search of the built-in agent; unset: `BRAVE_API_KEY`'),
  BRAVE_API_KEY: z.string().min(1).optional().describe('Key of the Brave Search API; both unset: no web search'),
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
  AGENT_MAIL_ADDRESS: z
    .string()
    .toLowerCase()
    .regex(/^[\w.+-]*\{agent\}@[a-z0-9.-]+$/, 'must be an address such as {agent}@agents.example.org')
    .optional()
    .describe('Address of agents that answer mail, with `{agent}` for the id of one; unset: none can'),
  EMAIL_AUTHSERV_ID: z
    .string()
    .regex(/^[^\s;"()]+$/, 'must be the first word of Authentication-Results, such as mx.example.org')
    .toLowerCase()
    .optional()
    .meta({
      description:
        'The mail service whose `Authentication-Results` counts, by its authserv-id (RFC 8601); of a mail without one of it nothing is proved',
      otherwise: 'the first one counts, whoever wrote it',
    }),
  EMAIL_ALLOWED_SENDERS: list
    .transform((emails) => emails.map((email) => email.toLowerCase()))
    .describe(
      'Addresses whose mail reaches agents at `<agent id>@…` or `…+<agent id>@…`; let the mail service refuse forged senders',
    ),
}
