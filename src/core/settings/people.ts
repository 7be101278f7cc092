import { z } from 'zod'
import { issuer, list, perMinute, url } from './forms.ts'

/** Who may come in and administer, and the mail to them. */
export const PEOPLE = {
  ADMIN_EMAILS: list
    .transform((emails) => emails.map((email) => email.toLowerCase()))
    .describe('Who administers; believed once the address is proved, or at once where no mail is set up'),
  ADMIN_EMAIL: z
    .email('must be an e-mail address')
    .toLowerCase()
    .optional()
    .describe(
      'Makes the first account at the first start, with `ADMIN_PASSWORD`; it administers, and its address counts as proved',
    ),
  ADMIN_PASSWORD: z
    .string()
    .min(8, 'must have at least 8 characters')
    .max(1024, 'must have at most 1024 characters')
    .optional()
    .describe('Password of that account; once there is an account, neither does anything'),
  SIGN_UP: z
    .enum(['open', 'invite', 'closed'])
    .default('open')
    .describe('`invite`: with a code of `POST /api/invite/generate`; `closed`: by `stead user create` only'),
  DEFAULT_PLAN: z.string().min(1).max(40).optional().meta({
    description:
      'The plan of accounts that an administrator creates or invites, and at home of every account; `free` for none',
    otherwise: 'at home `network`, else none',
    form: 'name of a plan',
  }),
  PLANS_FILE: z.string().min(1).optional().meta({
    description:
      'A JSON list of further plans: `name`, `models`, `agents`, `skills`, `messagesPerDay`, `tokensPerMonth`, `usdPerMonth`, `storageGb`',
    otherwise: 'the plans of the interface and those of the dashboard',
    form: 'file',
  }),
  BOT_DETECTION: z
    .enum(['off', 'basic', 'pow'])
    .default('basic')
    .describe(
      'At sign-up and forgotten passwords. `basic`: rejects declared crawlers and a filled hidden field, and asks for a solved challenge of `GET /api/auth/challenge` after 100 sign-ups an hour from one /24 (IPv6: /64); `pow`: always asks for one; `off`: checks nothing',
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

/** Other ways to sign in than a password. */
export const SIGN_IN = {
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

/** Requests a minute. */
export const RATES = {
  RATE_LIMIT_BACKEND: perMinute(120).describe('`/api/*` of the backend; `/v1` counts the same number for each bearer'),
  RATE_LIMIT_AI: perMinute(30).describe('`/api/ai/*`'),
  RATE_LIMIT_DEPLOYMENTS: perMinute(5).describe('`POST /api/deployments`'),
  RATE_LIMIT_GATEWAY: perMinute(100).describe('`/api/x402` and `/api/v1/gateway`, each'),
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
